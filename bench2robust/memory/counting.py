"""From episode records to counts.

One count per (episode, tool, error), however often the error came: the estimate is of the episode
("when tool j hits error e, how often does the episode still succeed?", section 3.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError
from bench2robust.core.faults import FAULT_TYPES, OBSERVABLE
from bench2robust.memory.posterior import Cell, Cells, Counts, Memory

__all__ = ["Tally", "build", "count", "fallback_pairs", "tally"]

TRAINING = "train"
JUDGE = "needs_judge"


class Tally(NamedTuple):
    """What one episode adds: the cells that it counts in, and whether it succeeded."""

    success: bool
    recovery: frozenset[Cell]
    switch: frozenset[Cell]


class _Fault(NamedTuple):
    step: int
    tool: str
    delivered: str


def build(records: Iterable[Mapping[str, Any]], domain: Domain) -> Memory:
    """Count episodes of the training split.

    Args:
        records: episode records as plain mappings; those that are not scored are passed over.

    Raises:
        DataError: a record is of a held-out task (the first is named), or lacks a field.
        UnknownNameError: a record is of a task that the domain does not have.
    """
    pairs = fallback_pairs(domain)
    tallies = []
    for record in records:
        _refuse_held_out(record, domain)
        if (found := tally(record, pairs)) is not None:
            tallies.append(found)
    return count(tallies, domain)


def _refuse_held_out(record: Mapping[str, Any], domain: Domain) -> None:
    task = domain.task(str(record.get("task")))
    if task.split != TRAINING:
        raise DataError(
            f"A memory is built from training tasks only, and there is an episode of {task.id!r}, "
            f"which is of the split {task.split!r}: run the evaluation with tasks: train."
        )


def fallback_pairs(domain: Domain) -> frozenset[Cell]:
    """Return every (source, target) that a fallback path joins."""
    return frozenset((p.source, p.target) for cls in domain.classes for p in cls.paths)


def tally(record: Mapping[str, Any], pairs: frozenset[Cell]) -> Tally | None:
    """Return what a record adds; None if it is not scored (as for pass rates).

    Args:
        pairs: the transitions that count.
    """
    try:
        if record["status"] != "ok" or JUDGE in record["flags"]:
            return None
        faults = [
            _Fault(row["step"], row["tool"], row["delivered"])
            for row in record["faults"]
            if row["delivered"] in FAULT_TYPES
        ]
        calls = [event["call"] for event in record["events"] if "call" in event]
        success = bool(record["success"])
    except (KeyError, TypeError) as error:
        raise DataError(f"This is not an episode record: {error!r} in {record!r:.200}") from None
    recovery = frozenset((fault.tool, fault.delivered) for fault in faults)
    return Tally(success, recovery, _switches(calls, faults, pairs))


def _switches(
    calls: Sequence[str], faults: Sequence[_Fault], pairs: frozenset[Cell]
) -> frozenset[Cell]:
    """Return the transitions j → k: k was called while the last answer of j was an error."""
    failed = {fault.step for fault in faults if fault.delivered in OBSERVABLE}
    failing: set[str] = set()
    found: set[Cell] = set()
    for step, tool in enumerate(calls):
        found.update((source, tool) for source in failing if (source, tool) in pairs)
        if step in failed:
            failing.add(tool)
        else:
            failing.discard(tool)
    return frozenset(found)


def count(tallies: Sequence[Tally], domain: Domain) -> Memory:
    """Return the counts of many episodes."""
    recovery = _counts((t.success, t.recovery) for t in tallies)
    switch = _counts((t.success, t.switch) for t in tallies)
    return Memory(domain.name, domain.digest, len(tallies), recovery, switch)


def _counts(rows: Iterable[tuple[bool, frozenset[Cell]]]) -> Cells:
    hits, totals = Counter[Cell](), Counter[Cell]()
    for success, cells in rows:
        totals.update(cells)
        if success:
            hits.update(cells)
    return {cell: Counts(hits[cell], total) for cell, total in totals.items()}
