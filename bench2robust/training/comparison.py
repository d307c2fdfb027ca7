"""The table of a demo: the policy after warm start and after reinforcement, on held-out tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench2robust.evaluation.metrics import Rate, rate
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.statistics import Pair, paired_contrast, wilson
from bench2robust.evaluation.table import NOTHING, Table
from bench2robust.training.examine import MODES, faced, passed

__all__ = ["gains", "policies_table"]

Records = Sequence[EpisodeRecord]

_NOTE = (
    "Shares of held-out episodes in which the fault was met (a fault of S1 delivered, a blocked "
    "tool of S2 or S3 called), with their number and the 95 % Wilson interval. S3 counts correct "
    "abstentions. Premature: solvable S1 and S2 episodes that ended in a transfer. False done: "
    "faulted episodes in which success was claimed and there was none."
)


def policies_table(records: Records, agents: Sequence[str]) -> Table:
    """Return one row for each policy.

    Args:
        agents: their names in the records, in the order of the rows.
    """
    columns = ("policy", "clean", "S1", "S2", "S3", "premature S1", "premature S2", "false done")
    rows = tuple(_row(agent, [r for r in records if r["agent"] == agent]) for agent in agents)
    return Table("policies", "After warm start and after reinforcement", columns, rows, _NOTE)


def _row(agent: str, records: Records) -> tuple[str, ...]:
    met = {mode: [r for r in records if r["mode"] == mode and faced(r)] for mode in MODES}
    faulted = [r for mode in ("s1", "s2", "s3") for r in met[mode]]
    return (
        agent,
        *(_share(rate(met[mode], passed)) for mode in MODES),
        *(_share(rate(met[mode], _premature)) for mode in ("s1", "s2")),
        _share(rate(faulted, lambda r: r["false_claims"])),
    )


def _premature(record: EpisodeRecord) -> bool:
    return record["transferred"] and not (record["gold_transfer"] or record["success"])


def _share(found: Rate) -> str:
    if not found.total:
        return NOTHING
    low, high = wilson(found.hits, found.total)
    return f"{found.share:.3f} [{low:.3f}, {high:.3f}] ({found.total})"


def gains(records: Records, before: str, after: str) -> Table:
    """Return what reinforcement changed, paired by task where both policies met the fault."""
    rows = [_gain(records, before, after, mode) for mode in MODES]
    columns = ("mode", "tasks", "gain", "low", "high", "p")
    note = f"{after} minus {before}; 95 % bootstrap interval and exact sign-flip test over tasks."
    return Table("gains", "What reinforcement changed", columns, tuple(rows), note)


def _gain(records: Records, before: str, after: str, mode: str) -> tuple[str, ...]:
    one, other = (_by_task(records, agent, mode, faced) for agent in (before, after))
    pairs = [Pair(task, one[task], other[task]) for task in one.keys() & other.keys()]
    if not pairs:
        return (mode, "0", *[NOTHING] * 4)
    effect = paired_contrast(sorted(pairs)).effect
    figures = (effect.difference, *effect.interval, effect.p_value)
    return (mode, str(effect.tasks), *(f"{figure:.3f}" for figure in figures))


def _by_task(
    records: Records, agent: str, mode: str, counts: Callable[[EpisodeRecord], bool]
) -> dict[str, bool]:
    own = (r for r in records if r["agent"] == agent and r["mode"] == mode)
    return {r["task"]: passed(r) for r in own if counts(r)}
