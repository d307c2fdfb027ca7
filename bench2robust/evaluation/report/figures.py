"""The figures that the plots show, with their intervals: numbers only, no drawing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from bench2robust.evaluation import metrics
from bench2robust.evaluation.metrics import Rate
from bench2robust.evaluation.mode_titles import by_mode
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.statistics import (
    Effect,
    Interval,
    clopper_pearson,
    cluster_bootstrap,
    cluster_effect,
    wilson,
)

__all__ = ["Effort", "Gap", "Panel", "Point", "curves", "efforts", "error_types", "gaps", "matrix"]

Records: TypeAlias = Sequence[EpisodeRecord]
CLEAN = "clean"


class Point(NamedTuple):
    """A pass rate and its 95 % interval, as shares."""

    share: float
    interval: Interval
    total: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The robustness gap of one agent.

    Attributes:
        points: pass rate by mode, ``clean`` first.
        changes: faults minus clean by mode, paired by task and seed.
    """

    agent: str
    points: Mapping[str, Point]
    changes: Mapping[str, Effect]


def by_task(records: Records) -> Point:
    """Return the pass rate with an interval that takes tasks, not episodes, as independent.

    It is the expanded bootstrap of tasks; where all tasks do the same, the exact interval instead.
    """
    counts = [metrics.rate(own) for own in metrics.group(records, lambda r: r["task"]).values()]
    whole = metrics.rate(records)
    if len({c.share for c in counts}) == 1:
        interval = clopper_pearson(round(whole.share * len(counts)), len(counts))
    else:
        hits, sizes = [c.hits for c in counts], [c.total for c in counts]
        interval = cluster_bootstrap(hits, sizes, expand=True)
    return Point(whole.share, interval, whole.total)


def gaps(scored: Records) -> list[Gap]:
    """Return the gap of each agent that has faulted modes (S3 and sweeps apart)."""
    found = []
    for agent, own in metrics.group(scored, lambda r: r["agent"]).items():
        modes = {m: r for m, r in by_mode(own).items() if m != "s3" and "@" not in m}
        points = {mode: by_task(part) for mode, part in modes.items()}
        clean = modes.pop(CLEAN, [])
        changes = {mode: _change(clean, part) for mode, part in modes.items()}
        if points:
            found.append(Gap(agent, points, {m: c for m, c in changes.items() if c is not None}))
    return found


def _change(clean: Records, faulted: Records) -> Effect | None:
    before = {(r["task"], r["seed"]): r["success"] for r in clean}
    differences: defaultdict[str, list[int]] = defaultdict(list)
    for record in faulted:
        key = (record["task"], record["seed"])
        if key in before:
            differences[record["task"]].append(record["success"] - before[key])
    values = differences.values()
    return cluster_effect([sum(v) for v in values], [len(v) for v in values]) if values else None


def error_types(scored: Records) -> dict[str, dict[str, Point]]:
    """Return, by error type and agent, the pass rate in mode ``inject`` with Wilson's interval."""
    injected = [r for r in scored if r["mode"] == "inject"]
    found: defaultdict[str, dict[str, Point]] = defaultdict(dict)
    for agent, own in metrics.group(injected, lambda r: r["agent"]).items():
        for kind, rate in metrics.pass_by_error_type(own).items():
            if rate.total:
                found[kind][agent] = _point(rate)
    return dict(found)


def _point(rate: Rate) -> Point:
    return Point(rate.share, wilson(*rate), rate.total)


def matrix(scored: Records) -> dict[tuple[str, str, str], dict[str, Rate]]:
    """Return, by (mode, ``planned`` or ``realized``, scenario) and agent, how many passed.

    In S3, where success is impossible, a correct abstention counts. Sweeps are left out.
    """
    plain = [r for r in scored if "@" not in r["mode"] and r["mode"] != CLEAN]
    found: defaultdict[tuple[str, str, str], dict[str, Rate]] = defaultdict(dict)
    for mode, part in by_mode(plain).items():
        ways: dict[str, Callable[[EpisodeRecord], str]] = {
            "planned": lambda r: r["scenario"] or "none",
            "realized": lambda r: r["realized"] or "none",
        }
        for way, name in ways.items():
            for scenario, own in sorted(metrics.group(part, name).items()):
                for agent, rows in metrics.group(own, lambda r: r["agent"]).items():
                    found[mode, way, scenario][agent] = _passes(rows)
    return dict(found)


def _passes(rows: Records) -> Rate:
    if rows[0]["mode"] == "s3":
        return metrics.rate(rows, lambda r: r["abstained"])
    return metrics.rate(rows)


@dataclass(frozen=True, slots=True)
class Panel:
    """The curves of one mode over the rows of a sweep that change the same settings.

    Attributes:
        kind: the mode, such as ``inject``.
        names: the settings, such as ``P(clean)`` or ``B, K_max``.
        values: their values, in order.
        places: where each value lies on the axis, from 0 to 1: to scale for one numeric setting.
        curves: by agent, one point per value; None where there is no episode.
    """

    kind: str
    names: str
    values: tuple[str, ...]
    places: tuple[float, ...]
    curves: Mapping[str, tuple[Point | None, ...]]


def curves(scored: Records) -> list[Panel]:
    """Return the sensitivity curves of a sweep, empty without one."""
    swept = [r for r in scored if "@" in r["mode"] and not r["mode"].startswith("s3")]
    groups: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for mode in metrics.group(swept, lambda r: r["mode"]):
        kind, _, label = mode.partition("@")
        names, values = _settings(label)
        groups[kind, names][values] = mode
    modes = metrics.group(swept, lambda r: r["mode"])
    return [_panel(kind, names, rows, modes) for (kind, names), rows in sorted(groups.items())]


def _settings(label: str) -> tuple[str, str]:
    """Split ``B=3, K_max=1`` into ``B, K_max`` and ``3, 1``; other labels are values as such."""
    pairs = [part.partition("=") for part in label.split(",")]
    if not all(sign for _, sign, _ in pairs):
        return "setting", label
    return ", ".join(n.strip() for n, _, _ in pairs), ", ".join(v.strip() for _, _, v in pairs)


def _panel(kind: str, names: str, rows: Mapping[str, str], modes: Mapping[str, Records]) -> Panel:
    values = tuple(sorted(rows, key=_natural))
    agents = dict.fromkeys(r["agent"] for mode in rows.values() for r in modes[mode])
    points = {
        value: {
            agent: by_task(own)
            for agent, own in metrics.group(modes[rows[value]], lambda r: r["agent"]).items()
        }
        for value in values
    }
    lines = {agent: tuple(points[value].get(agent) for value in values) for agent in agents}
    return Panel(kind, names, values, _places(values), lines)


def _natural(text: str) -> tuple[tuple[float, str], ...]:
    """Order numbers in text by value."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple((float(p), "") if p[:1].isdecimal() else (0.0, p) for p in parts)


def _places(values: Sequence[str]) -> tuple[float, ...]:
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = [float(i) for i in range(len(values))]
    low, span = numbers[0], numbers[-1] - numbers[0]
    return tuple((n - low) / span if span else 0.5 for n in numbers)


class Effort(NamedTuple):
    """What one agent's episodes in one mode took on average, and its pass rate."""

    agent: str
    mode: str
    effort: float
    share: float


_MEASURES: dict[str, Callable[[EpisodeRecord], float | None]] = {
    "steps": lambda r: r["steps"],
    "simulated seconds": lambda r: r["sim_seconds"],
    "tokens": lambda r: r["tokens"],
    "cost": lambda r: r["cost"],
}


def efforts(scored: Records) -> dict[str, list[Effort]]:
    """Return the mean effort per episode beside the pass rate, by measure.

    S3, in which nothing can pass, and sweeps are left out; so are measures that nobody recorded.
    """
    found: defaultdict[str, list[Effort]] = defaultdict(list)
    plain = [r for r in scored if "@" not in r["mode"] and r["mode"] != "s3"]
    for agent, own in metrics.group(plain, lambda r: r["agent"]).items():
        for mode, part in by_mode(own).items():
            for measure, value in _MEASURES.items():
                known = [v for r in part if (v := value(r)) is not None]
                if known:
                    effort = sum(known) / len(known)
                    found[measure].append(Effort(agent, mode, effort, metrics.rate(part).share))
    return dict(found)
