"""An episode event by event in simulated time, each with its fault and receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench2robust.evaluation.clock import CALL_SECONDS, REPLY_SECONDS
from bench2robust.evaluation.record import EpisodeRecord, FaultRow, ReceiptRow

__all__ = ["Moment", "moments", "summary"]


class Moment(NamedTuple):
    """One event of a record.

    Attributes:
        event: as the record has it.
        number: the position among the tool calls; None if it is none.
        start: seconds since the episode began, see :mod:`bench2robust.evaluation.clock`.
        end: the same, when it was over.
        fault: the ledger row of a call that was faulted.
        receipt: what a monitor found in its result.
    """

    event: Mapping[str, Any]
    number: int | None
    start: float
    end: float
    fault: FaultRow | None
    receipt: ReceiptRow | None


def moments(record: EpisodeRecord) -> Iterator[Moment]:
    """Walk through the events of a record; the last ends at its ``sim_seconds``."""
    faults = {row["step"]: row for row in record["faults"]}
    monitor = record.get("monitor")
    receipts = {row["step"]: row for row in monitor["receipts"]} if monitor else {}
    now, calls = 0.0, 0
    for event in record["events"]:
        number = calls if "call" in event else None
        fault = None if number is None else faults.get(number)
        end = now + _seconds(event, fault)
        yield Moment(event, number, now, end, fault, receipts.get(-1 if number is None else number))
        now = end
        calls += number is not None


def _seconds(event: Mapping[str, Any], fault: FaultRow | None) -> float:
    if "say" in event:
        return REPLY_SECONDS
    if "call" not in event:
        return 0.0
    return CALL_SECONDS + (fault["latency"] if fault else 0.0)


def summary(record: EpisodeRecord) -> str:
    """Return in a sentence how an episode came out."""
    if record["status"] != "ok":
        return record["reason"]
    state = "right" if record["state"] else "wrong"
    told = "told" if record["communicated"] else "not told"
    return (
        f"{'success' if record['success'] else 'failure'}: the state is {state}, required answers "
        f"were {told}, {record['matched']} of {record['required']} gold calls were made; "
        f"ended by {record['ended']}"
    )
