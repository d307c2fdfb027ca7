"""Paired comparison of two runs, or of two agents of one: every figure, with tasks as clusters."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.pairing import Key, Lost, check_paired, lost_pairs, read_arm
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.statistics import (
    Contrast,
    Effect,
    Pair,
    cluster_effect,
    holm,
    least_prevalence,
    paired_contrast,
)
from bench2robust.evaluation.store import read_records

__all__ = ["Comparison", "Gap", "Row", "compare_records", "compare_runs"]

CLEAN = "clean"
_NOT_ARMS = {"agents", "concurrency", "data", "out", "tables", "trained_with_memory",
             "transcripts"}  # fmt: skip
"""Settings whose difference either is named elsewhere or cannot change results."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mode, or one planned scenario of a mode.

    Attributes:
        scenario: empty for the whole mode.
        p_holm: the sign-flip p-value, corrected for the other rows of the same kind.
    """

    mode: str
    scenario: str
    contrast: Contrast
    p_holm: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Faults against clean: by how much the second arm loses less than the first.

    Attributes:
        effect: (second - first under faults) - (second - first clean), by pairs scored in both.
        p_holm: its sign-flip p-value, corrected for the other modes.
        prevalence: the least share of faulted episodes at which the second arm is not worse, at the
            unfavourable ends of both intervals; infinite if there is none.
    """

    mode: str
    effect: Effect
    p_holm: float
    prevalence: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every figure of a comparison; differences are second arm minus first.

    Attributes:
        first: what to call the first arm.
        second: what to call the second arm.
        settings: how the configurations differ, ``name: first, second``.
        modes: one row per mode; a family of Holm's correction.
        scenarios: one row per planned scenario where a mode has several; another family.
        gaps: the change of the robustness gap, where there is a clean mode; another family.
        pooled: all modes together, where there are several; not corrected.
        lost: per mode, the pairs that are not in it.
    """

    first: str
    second: str
    settings: tuple[str, ...]
    modes: tuple[Row, ...]
    scenarios: tuple[Row, ...]
    gaps: tuple[Gap, ...]
    pooled: Contrast | None
    lost: Mapping[str, Lost]


def compare_runs(
    first: Path,
    second: Path,
    agents: tuple[str | None, str | None] = (None, None),
    modes: Sequence[str] = (),
    exclude_flagged: bool = False,
) -> Comparison:
    """Compare two run folders, or two agents of one.

    Args:
        agents: which agent of each run; may be left out where a run has one.
        modes: compare only these; by default all.
        exclude_flagged: set aside the pairs in which the simulated user was at fault (see
            :mod:`bench2robust.users.faults`) in either arm.

    Raises:
        UsageError: the suites or cells differ, or it is not clear what to compare.
    """
    manifests = read_manifest(first), read_manifest(second)
    suites = [str(manifest["suite"]) for manifest in manifests]
    if suites[0] != suites[1]:
        raise UsageError(
            f"The runs are over different suites ({suites[0]} in {first}, {suites[1]} in {second})"
            ", so their tasks are not the same: run both over the same domain and data."
        )
    arms = [_of_agent(f, a) for f, a in zip((first, second), agents, strict=True)]
    names = [f"{f.name} {name}" for f, (name, _) in zip((first, second), arms, strict=True)]
    settings = _differing(manifests[0], manifests[1])
    one, two = (records for _, records in arms)
    return compare_records(one, two, (names[0], names[1]), modes, settings, exclude_flagged)


def _of_agent(folder: Path, agent: str | None) -> tuple[str, list[EpisodeRecord]]:
    records = list(read_records(folder))
    names = sorted({record["agent"] for record in records})
    if not names:
        raise UsageError(f"{folder} holds no episode: nothing to compare.")
    if agent is None and len(names) != 1:
        raise UsageError(
            f"{folder} holds the agents {', '.join(names)}: name one, with --agent-a of the first "
            "run and --agent-b of the second."
        )
    if agent is not None and agent not in names:
        raise UnknownNameError(f"agent of {folder}", agent, names)
    agent = agent or names[0]
    return agent, [record for record in records if record["agent"] == agent]


def _differing(first: dict[str, Any], second: dict[str, Any]) -> tuple[str, ...]:
    """Return how two manifests differ in what could make a difference."""
    one = {"package": first["package"], **first["config"]}
    two = {"package": second["package"], **second["config"]}
    return tuple(
        f"{name}: {one.get(name)!r}, {two.get(name)!r}"
        for name in sorted({*one, *two} - _NOT_ARMS)
        if one.get(name) != two.get(name)
    )


def compare_records(
    first: Iterable[EpisodeRecord],
    second: Iterable[EpisodeRecord],
    names: tuple[str, str] = ("A", "B"),
    modes: Sequence[str] = (),
    settings: tuple[str, ...] = (),
    exclude_flagged: bool = False,
) -> Comparison:
    """Compare the records of two arms, each of one agent; as :func:`compare_runs`.

    Raises:
        UsageError: the cells are not the same, or a mode has none that both arms scored.
    """
    one, two = (read_arm(records, modes, exclude_flagged) for records in (first, second))
    check_paired(one, two)
    by_mode: dict[str, dict[Key, Pair]] = {mode: {} for mode, _, _ in sorted(one)}
    by_scenario: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    for key in sorted(one):
        if one[key].state == two[key].state == "ok":
            mode, task, _ = key
            pair = Pair(task, one[key].passed, two[key].passed)
            by_mode[mode][key] = pair
            by_scenario[mode, one[key].scenario].append(pair)
    several = Counter(mode for mode, _ in by_scenario)
    rows = _rows({(mode, ""): list(pairs.values()) for mode, pairs in by_mode.items()})
    parts = {key: pairs for key, pairs in by_scenario.items() if several[key[0]] > 1}
    everything = [pair for pairs in by_mode.values() for pair in pairs.values()]
    return Comparison(
        *names,
        settings,
        rows,
        _rows(parts),
        _gaps(rows, by_mode, {key[0] for key, cell in one.items() if cell.scenario == "S3"}),
        paired_contrast(everything) if len(by_mode) > 1 else None,
        {mode: lost_pairs(mode, one, two) for mode in by_mode},
    )


def _rows(groups: Mapping[tuple[str, str], Sequence[Pair]]) -> tuple[Row, ...]:
    """Return the rows of one family, corrected for one another."""
    for (mode, _), pairs in groups.items():
        if not pairs:
            raise UsageError(f"No episode of mode {mode} is scored in both runs: leave it out.")
    contrasts = {key: paired_contrast(pairs) for key, pairs in groups.items()}
    adjusted = holm({key: c.effect.p_value for key, c in contrasts.items()})
    return tuple(Row(*key, contrast, adjusted[key]) for key, contrast in contrasts.items())


def _gaps(
    rows: Sequence[Row], by_mode: Mapping[str, Mapping[Key, Pair]], impossible: set[str]
) -> tuple[Gap, ...]:
    """Return the change of the gap to clean of every mode in which success is possible."""
    if CLEAN not in by_mode:
        return ()
    lows = {row.mode: row.contrast.effect.interval.low for row in rows}
    effects = {}
    for mode in sorted(by_mode.keys() - impossible - {CLEAN}):
        effect = _gap_change(by_mode[mode], by_mode[CLEAN])
        if effect is not None:
            effects[mode] = effect
    adjusted = holm({mode: effect.p_value for mode, effect in effects.items()})
    return tuple(
        Gap(mode, effects[mode], adjusted[mode], least_prevalence(lows[mode], lows[CLEAN]))
        for mode in effects
    )


def _gap_change(faulted: Mapping[Key, Pair], clean: Mapping[Key, Pair]) -> Effect | None:
    by_task: defaultdict[str, list[int]] = defaultdict(list)
    for (_, task, seed), pair in faulted.items():
        other = clean.get((CLEAN, task, seed))
        if other is not None:
            by_task[task].append(pair.second - pair.first - (other.second - other.first))
    if not by_task:
        return None
    sums, sizes = [sum(d) for d in by_task.values()], [len(d) for d in by_task.values()]
    return cluster_effect(sums, sizes, limit=2.0)
