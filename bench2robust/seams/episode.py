"""From what passed a seam to an episode record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple, cast

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, canonical
from bench2robust.core.keyed import digest
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.evaluation.clock import simulate
from bench2robust.evaluation.reactions import Relations, reaction
from bench2robust.evaluation.record import (
    AfterReceipt,
    EpisodeRecord,
    FaultRow,
    MonitorUse,
    ReceiptRow,
    SilentRow,
    blank_record,
)
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.injectors.machine import FaultPlan
from bench2robust.monitors.recovery import Substitutes
from bench2robust.seams.recording import Row

__all__ = ["UNJUDGED", "MonitorName", "episode_record"]

_NO_RESULT = "[no result: the call was given up, or its tool broke down]"
UNJUDGED = "recorded at a seam, where nobody says whether the task succeeded"
_MODE = "seam"


class MonitorName(NamedTuple):
    """The monitor of a seam: its arm, the SHA-256 of its contract, its envelope."""

    arm: str
    contract: str
    envelope: str


def episode_record(
    rows: Sequence[Row],
    plan: FaultPlan,
    tools: Iterable[ToolSpec],
    substitutes: Substitutes,
    monitor: MonitorName | None,
    *,
    agent: str,
    success: bool | None,
    redacted: int,
) -> EpisodeRecord:
    """Return the record of an episode.

    What only a benchmark knows (the gold plan, whether an abstention was right, what became of a
    wrong value) is left at its zero. Without a verdict the record is ``not_applicable``, so that
    nothing counts it as a failure.

    Args:
        rows: what is known of each call, in order.
        success: whether the task succeeded; None if nobody says so.
        redacted: how many values were taken out as secrets.
    """
    record = blank_record(agent, _MODE, plan.task_id, plan.seed)
    _judge(record, success)
    calls = [ToolCall(row["call"], row["args"]) for row in rows]
    relations = _relations(tools, substitutes)
    faults = [_fault(row, calls, relations) for row in rows if "fault" in row]
    _count(record, calls, faults)
    record["blocked"] = sorted(plan.blocked)
    record["faults"] = faults
    record["events"] = [_event(row) for row in rows]
    if monitor is not None:
        record["monitor"] = _monitor(rows, calls, monitor)
    record["seam"] = {
        "faults": plan.profile.model_dump(),
        "lost": sum("result" not in row for row in rows),
        "receipts": sum(bool(row.get("check", {}).get("warned")) for row in rows),
        "loops": sum(bool(row.get("loop")) for row in rows),
        "redacted": redacted,
    }
    return record


def _judge(record: EpisodeRecord, success: bool | None) -> None:
    if success is None:
        record["status"], record["reason"] = "not_applicable", UNJUDGED
        return
    record["status"] = "ok"
    record["success"] = record["state"] = record["communicated"] = success
    record["reward"] = float(success)


def _count(record: EpisodeRecord, calls: Sequence[ToolCall], faults: Sequence[FaultRow]) -> None:
    blocked = sum(row["planned"] == BLOCKED for row in faults)
    met = {row["step"]: _met(row) for row in faults}
    log = [LogEntry(call, ToolResult("")) for call in calls]
    clock = simulate([("tool", i) for i in range(len(calls))], log, met)
    landed = any(row["delivered"] and row["planned"] != BLOCKED for row in faults)
    record["realized"] = "S1" if landed else None
    record["steps"] = record["calls"] = len(calls)
    record["faultable_calls"] = len(calls) - blocked
    record["ended"] = "agent"
    record["rate_limit_violations"], record["sim_seconds"] = clock.violations, clock.seconds


def _met(row: FaultRow) -> FaultEvent:
    """Return a fault as the clock needs it."""
    event = FaultEvent(row["step"], row["tool"], row["nth"], row["planned"], None, False, False)
    return event._replace(latency=row["latency"], retry_after=row["retry_after"])


def _relations(tools: Iterable[ToolSpec], substitutes: Substitutes) -> Relations:
    mates = {tool: frozenset(others) for tool, others in substitutes.items()}
    return Relations({spec.name: spec.kind for spec in tools}, mates, {})


def _fault(row: Row, calls: Sequence[ToolCall], relations: Relations) -> FaultRow:
    found = row["fault"]
    delivered = found["delivered"] is not None
    after = reaction(calls, found["step"], relations) if delivered else "none"
    more = {"seen": delivered, "wrong": 0, "adopted": 0, "reaction": after}
    return cast(FaultRow, {**found, **more})


def _event(row: Row) -> dict[str, Json]:
    lost = {"error": True, "result": digest(_NO_RESULT), "content": _NO_RESULT}
    event = {"call": row["call"], "args": row["args"]}
    return event | {key: row.get(key, lost[key]) for key in lost}


def _monitor(rows: Sequence[Row], calls: Sequence[ToolCall], name: MonitorName) -> MonitorUse:
    looked = [row["check"] for row in rows if "check" in row]
    return {
        "arm": name.arm,
        "contract": name.contract,
        "envelope": name.envelope,
        "fold": None,
        "receipt_schema_version": name.envelope,
        "checked": len(looked),
        "covered": sum(check["covered"] for check in looked),
        "extra_calls": 0,
        "pending": 0,
        "receipts": [_receipt(row, calls) for row in rows if "codes" in row.get("check", {})],
        "silent": [_silent(row) for row in rows if "kinds" in row],
    }


def _receipt(row: Row, calls: Sequence[ToolCall]) -> ReceiptRow:
    check, step, fault = row["check"], row["i"], row.get("fault", {})
    after = calls[step + 1] if step + 1 < len(calls) else None
    return {
        "step": step,
        "tool": row["call"],
        "codes": check["codes"],
        "paths": check["paths"],
        "recovery": check["recovery"],
        "warned": check["warned"],
        "injected": fault.get("delivered") if fault.get("changes") else None,
        "action": _action(row, after),
        "same_arguments": after is not None and canonical(after) == canonical(calls[step]),
        "raw_sha256": _sha256(check["raw"]),
        "delivered_sha256": _sha256(row["content"]),
        "arguments_sha256": _sha256(canonical(row["args"])),
    }


def _action(row: Row, after: ToolCall | None) -> AfterReceipt:
    if after is None:
        return "no_call"
    if after.name == row["call"]:
        return "retry"
    return "listed_substitute" if after.name in row["check"]["recovery"] else "other_tool"


def _silent(row: Row) -> SilentRow:
    check = row.get("check", {})
    return {
        "step": row["i"],
        "tool": row["call"],
        "fault": row["fault"]["delivered"],
        "kinds": row["kinds"],
        "needed": True,
        "covered": bool(check.get("covered")),
        "detected": check.get("codes", []),
        "contaminated": None,
    }


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
