from __future__ import annotations

import json
from typing import Any

import pytest

from bench2robust.core.backend import LogEntry
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.monitors.done import ReadOnly, verify_done
from bench2robust.monitors.violation import Violation

KINDS = {"get": "read", "cancel": "write", "pay": "write"}
DONE = "Your order has been cancelled."
PENDING = {"id": "#1", "status": "pending"}
CANCELLED = {"id": "#1", "status": "cancelled"}


def entry(name: str, result: Any, error: bool = False, **arguments: Any) -> LogEntry:
    content = result if isinstance(result, str) else json.dumps(result)
    return LogEntry(ToolCall(name, {"id": "#1", **arguments}), ToolResult(content, error))


BEFORE = entry("get", PENDING)
CANCEL = entry("cancel", CANCELLED, reason="late")
AFTER = entry("get", CANCELLED)


class Known:
    """Knows that a status is never ``lost``."""

    def covers(self, tool: str) -> bool:
        return True

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        broken = "lost" in result.content
        return (Violation("unseen_category", "/status", [], "lost", ""),) * broken


def standings(*entries: LogEntry, said: str = DONE, **more: Any) -> list[str]:
    return [w.standing for w in verify_done([said], entries, KINDS, **more).writes]


def test_a_write_with_a_later_read_that_shows_it_is_verified() -> None:
    verdict = verify_done([DONE], [BEFORE, CANCEL, AFTER], KINDS, Known())
    assert verdict.claimed and verdict.supported
    assert [w.standing for w in verdict.writes] == ["verified"]


@pytest.mark.parametrize(
    ("entries", "standing"),
    [
        ((BEFORE, CANCEL), "unread"),
        ((BEFORE, CANCEL, entry("get", PENDING)), "contradicted"),
        ((BEFORE, CANCEL, entry("get", {"status": "lost"})), "contradicted"),
        ((BEFORE, CANCEL, entry("get", "Error", error=True)), "unread"),
        ((BEFORE, entry("cancel", "Error", error=True), AFTER), "failed"),
        ((AFTER, CANCEL, AFTER), "contradicted"),
    ],
)
def test_each_step_of_the_proof_can_fail(entries: tuple[LogEntry, ...], standing: str) -> None:
    verdict = verify_done([DONE], entries, KINDS, Known())
    assert not verdict.supported and verdict.writes[0].standing == standing
    assert verdict.writes[0].reason


def test_a_claim_without_any_write_is_not_supported() -> None:
    verdict = verify_done([DONE], [BEFORE], KINDS)
    assert verdict.claimed and not verdict.supported and not verdict.writes


def test_who_claims_nothing_needs_no_proof() -> None:
    verdict = verify_done(["I could not cancel it."], [CANCEL], KINDS)
    assert not verdict.claimed and verdict.supported and not verdict.writes


def test_a_refused_try_that_a_later_one_replaced_does_not_count() -> None:
    refused = entry("cancel", "Error: reason", error=True, reason="bad")
    assert standings(BEFORE, refused, CANCEL, AFTER) == ["verified"]
    assert standings(BEFORE, refused, entry("pay", {}, amount=3), AFTER) == ["failed", "verified"]


def test_one_of_several_tries_of_the_same_call_is_enough() -> None:
    lost = LogEntry(CANCEL.call, ToolResult("Error: HTTP 503", True))
    assert standings(BEFORE, lost, CANCEL, AFTER) == ["verified"]
    assert standings(BEFORE, CANCEL, lost, AFTER) == ["verified"]


def test_reads_of_other_records_bear_nothing_out() -> None:
    other = LogEntry(ToolCall("get", {"id": "#2"}), ToolResult("{}"))
    assert standings(BEFORE, CANCEL, other) == ["unread"]


def test_a_write_of_what_was_so_already_is_verified_by_its_values() -> None:
    pay = entry("pay", {}, amount=12.5)
    paid = entry("get", {"id": "#1", "paid": 12.5})
    assert standings(paid, pay, paid) == ["verified"]


class Desk:
    tools = tuple(ToolSpec(name, "", {}, kind) for name, kind in KINDS.items())  # type: ignore[arg-type]
    revision = 0

    def call(self, call: ToolCall) -> ToolResult:
        return ToolResult(json.dumps(CANCELLED))


def test_a_reviewer_with_tools_that_only_read_looks_again() -> None:
    reviewer = ReadOnly(Desk())
    assert standings(BEFORE, CANCEL, read=reviewer.call) == ["verified"]
    assert standings(CANCEL, read=reviewer.call) == ["unread"]  # no read of it is known
    assert reviewer.call(ToolCall("cancel", {})).is_error
    assert reviewer.call(ToolCall("none", {})).is_error
