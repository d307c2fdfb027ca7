"""What a policy does on held-out tasks, after warm start and after reinforcement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.metrics import Rate, premature, rate
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.statistics import Pair, paired_contrast, wilson
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.table import NOTHING, Table, probability
from bench2robust.training.examine import MODES, faced, passed

__all__ = [
    "AFTER",
    "BEFORE",
    "EXAMINATION",
    "final_records",
    "final_shares",
    "gains",
    "kinds_table",
    "policies_table",
]

Records = Sequence[EpisodeRecord]

BEFORE, AFTER = "SFT", "RL"
"""How examinations call the policy before and after reinforcement."""
EXAMINATION = "examination"
"""The run folder of an examination, in that of its training."""
_SAMPLED = "temperature 1"

_NOTE = (
    "Shares of held-out episodes in which the fault was met (a fault of S1 delivered, a blocked "
    "tool of S2 or S3 called), with their number and the 95 % Wilson interval. S3 counts correct "
    "abstentions. Premature: solvable S1 and S2 episodes that ended in a transfer. False done: "
    "faulted episodes in which success was claimed and there was none."
)


def final_records(run: Path) -> list[EpisodeRecord]:
    """Return the examination of the final policy of a run, sampled at temperature 1.

    Raises:
        UsageError: it was examined at other temperatures only.
    """
    records = list(read_records(run / EXAMINATION, dialogue=False))
    stages = {record["agent"] for record in records}
    sampled = (f"{AFTER}, {_SAMPLED}", f"{BEFORE}, {_SAMPLED}")
    stage = next((s for s in sampled if s in stages), None)
    if stage is None:
        raise UsageError(
            f"{run / EXAMINATION} holds no episodes at temperature 1, by which policies are "
            "compared: train the run with held_out.temperatures [1.0] in another folder."
        )
    return [record for record in records if record["agent"] == stage]


def final_shares(run: Path) -> dict[str, Rate]:
    """Return, by mode, how many episodes of the final policy that met the fault ended well."""
    met = [record for record in final_records(run) if faced(record)]
    return {mode: rate([r for r in met if r["mode"] == mode], passed) for mode in MODES}


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
        *(_share(rate(met[mode], premature)) for mode in ("s1", "s2")),
        _share(rate(faulted, lambda r: r["false_claims"])),
    )


def kinds_table(records: Records, agents: Sequence[str], trained: Collection[str]) -> Table:
    """Return, by type of fault, how each policy does in S1 and S2 where one of that type came.

    Args:
        agents: their names in the records, in the order of the columns.
        trained: the types that training knew.
    """
    met = [r for r in records if r["mode"] in ("s1", "s2") and faced(r)]
    by_kind: dict[str, list[EpisodeRecord]] = {}
    for record in met:
        for kind in sorted({f["delivered"] for f in record["faults"] if f["delivered"]}):
            by_kind.setdefault(kind, []).append(record)
    rows = tuple(
        (
            kind,
            "seen" if kind in trained else "held out",
            *(_share(rate([r for r in own if r["agent"] == agent], passed)) for agent in agents),
        )
        for kind, own in sorted(by_kind.items(), key=lambda item: (item[0] not in trained, item[0]))
    )
    note = (
        "Shares of held-out S1 and S2 episodes that ended well, of those in which a fault of the "
        "type was delivered, with their number and the 95 % Wilson interval."
    )
    columns = ("type of fault", "in training", *agents)
    return Table("kinds", "By type of fault", columns, rows, note)


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
    figures = (effect.difference, *effect.interval)
    return (mode, str(effect.tasks), *(f"{f:.3f}" for f in figures), probability(effect.p_value))


def _by_task(
    records: Records, agent: str, mode: str, counts: Callable[[EpisodeRecord], bool]
) -> dict[str, bool]:
    own = (r for r in records if r["agent"] == agent and r["mode"] == mode)
    return {r["task"]: passed(r) for r in own if counts(r)}
