"""Two arms over the same (mode, task, seed) cells, and what becomes of each pair.

A cell counts as passed if its episode succeeded or, where success is impossible (S3), if the agent
abstained correctly. Episodes that the infrastructure lost are never failures: their pairs are set
aside, counted, and bounded. Arms over different cells are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.metrics import scored
from bench2robust.evaluation.record import EpisodeRecord, simulator_flags
from bench2robust.evaluation.statistics import Interval

__all__ = ["Arm", "Cell", "Key", "Lost", "check_paired", "lost_pairs", "read_arm"]


class Cell(NamedTuple):
    """What one arm made of one cell; ``state`` is ``ok``, ``infra_error`` or why not scored."""

    state: str
    scenario: str
    passed: bool


Key: TypeAlias = tuple[str, str, int]
Arm: TypeAlias = Mapping[Key, Cell]


@dataclass(frozen=True, slots=True)
class Lost:
    """Pairs of one mode that are not scored.

    Attributes:
        first: lost by the infrastructure in the first arm only.
        second: in the second arm only.
        both: in both arms.
        unscored: not to be scored in one arm or both, by reason, such as ``uncertified``.
        extremes: the difference if every pair that the infrastructure lost had gone against the
            second arm, and if every one had gone for it.
    """

    first: int
    second: int
    both: int
    unscored: Mapping[str, int]
    extremes: Interval


def read_arm(
    records: Iterable[EpisodeRecord], modes: Sequence[str], exclude_flagged: bool = False
) -> dict[Key, Cell]:
    """Return the cells of one agent, of all modes or of those given.

    Args:
        exclude_flagged: whether episodes with a fault of the simulated user are not scored.

    Raises:
        UnknownNameError: there is no such mode.
    """
    arm = {(r["mode"], r["task"], r["seed"]): _cell(r, exclude_flagged) for r in records}
    known = {mode for mode, _, _ in arm}
    for mode in modes:
        if mode not in known:
            raise UnknownNameError("mode of the run", mode, known)
    return {key: cell for key, cell in arm.items() if not modes or key[0] in modes}


def _cell(record: EpisodeRecord, exclude_flagged: bool) -> Cell:
    scenario = record["scenario"] or ""
    passed = record["abstained"] if scenario == "S3" else record["success"]
    state: str = record["status"]
    if state == "ok" and not scored([record]):
        state = "needs a judge"
    elif state == "ok" and exclude_flagged and simulator_flags(record):
        state = "flagged"
    return Cell(state, scenario, passed)


def check_paired(one: Arm, two: Arm) -> None:
    """Check that two arms are over the same cells under the same planned scenarios.

    Raises:
        UsageError: they are not, or there are none.
    """
    if not one and not two:
        raise UsageError("Neither run has an episode: nothing to compare.")
    for name, only in (("first", one.keys() - two.keys()), ("second", two.keys() - one.keys())):
        if only:
            mode, task, seed = min(only)
            raise UsageError(
                f"The runs are not paired: {len(only)} cells are in the {name} alone, such as mode "
                f"{mode}, task {task}, seed {seed}. Finish both runs with the same tasks and "
                "seeds, or compare only the modes that they share."
            )
    for key in sorted(one):
        scenarios = one[key].scenario, two[key].scenario
        if one[key].state == two[key].state == "ok" and scenarios[0] != scenarios[1]:
            raise UsageError(
                f"The runs are not paired: mode {key[0]}, task {key[1]}, seed {key[2]} is scenario "
                f"{scenarios[0] or 'none'} in the first and {scenarios[1] or 'none'} in the "
                "second. Run both with the same scenario, side and s2_classes."
            )


def lost_pairs(mode: str, one: Arm, two: Arm) -> Lost:
    """Count the pairs of a mode that are not scored, and bound what the lost ones could change."""
    lost: Counter[tuple[bool, bool]] = Counter()
    unscored: Counter[str] = Counter()
    worst = best = total = 0
    for key in one:
        if key[0] != mode:
            continue
        a, b = one[key], two[key]
        reasons = sorted({a.state, b.state} - {"ok", "infra_error"})
        if reasons:
            unscored[" / ".join(reasons)] += 1
            continue
        gone = a.state != "ok", b.state != "ok"
        lost[gone] += any(gone)
        worst += (0 if gone[1] else b.passed) - (1 if gone[0] else a.passed)
        best += (1 if gone[1] else b.passed) - (0 if gone[0] else a.passed)
        total += 1
    extremes = Interval(worst / total, best / total)
    return Lost(lost[True, False], lost[False, True], lost[True, True], dict(unscored), extremes)
