"""The outcome monitor: a wrapper that checks each result and may attach a receipt to it.

It sees the call and the result that came back, and nothing else: not what was injected, not the
task, not what the right answer is. It never calls a tool of its own, changes no result's content,
and leaves every action open.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench2robust.core.backend import ToolBackend, WrapperBackend
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.ledger import Check
from bench2robust.monitors.receipts import RETAIL, Envelope, Redactor, Wording, encode
from bench2robust.monitors.recovery import Substitutes, recovery_tools
from bench2robust.monitors.triggers import OnViolation, Trigger
from bench2robust.monitors.violation import Monitor, Violation

__all__ = ["OutcomeMonitor", "ReceiptStyle"]


def _as_it_is(violation: Violation) -> Violation:
    return violation


@dataclass(frozen=True, slots=True)
class ReceiptStyle:
    """How receipts look.

    Attributes:
        substitutes: tool to its public substitutes; receipts name those that are advertised.
        wording: of text receipts.
        redact: applied to each violation before it is quoted.
    """

    envelope: Envelope = "v2"
    substitutes: Substitutes = field(default_factory=dict)
    wording: Wording = RETAIL
    redact: Redactor = _as_it_is


class OutcomeMonitor(WrapperBackend):
    """Checks results, and attaches receipts.

    Args:
        inner: any tool backend.
        monitor: what is known of its tools.
        style: how receipts look.
        trigger: when a result gets one; by default on each violation.

    Attributes:
        checks: the ledger, one row for each call.
        pending: warnings that are due and were not delivered yet (placebo).
    """

    def __init__(
        self,
        inner: ToolBackend,
        monitor: Monitor,
        style: ReceiptStyle = ReceiptStyle(),
        trigger: Trigger | None = None,
    ) -> None:
        super().__init__(inner)
        self.checks: list[Check] = []
        self._monitor = monitor
        self._style = style
        self._trigger = trigger if trigger is not None else OnViolation()

    @property
    def pending(self) -> int:
        """How many warnings are due and were not delivered."""
        return self._trigger.pending

    def call(self, call: ToolCall) -> ToolResult:
        """Run the call; return its result, with a receipt if one is due."""
        return self.look(call, self.inner.call(call))

    def look(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result of a call that was run, with a receipt if one is due."""
        # What is marked as an error is no silent failure: the agent sees it.
        violations = () if result.is_error else self._monitor.check(call, result)
        warned = self._trigger.fires(bool(violations), result.is_error)
        recovery = self._recovery(call.name) if violations or warned else ()
        content = self._warned(call, result, violations, recovery) if warned else result.content
        covered = self._monitor.covers(call.name)
        self.checks.append(Check(call, result, content, covered, violations, recovery, warned))
        return ToolResult(content, result.is_error) if warned else result

    def _recovery(self, tool: str) -> tuple[str, ...]:
        style = self._style
        itself = style.envelope != "v1"  # as the paper's own receipts have it
        return recovery_tools(tool, style.substitutes, self.tools, itself=itself)

    def _warned(
        self,
        call: ToolCall,
        result: ToolResult,
        violations: tuple[Violation, ...],
        recovery: tuple[str, ...],
    ) -> str:
        style = self._style
        shown = tuple(map(style.redact, violations))
        return encode(style.envelope, call.name, result.content, shown, recovery, style.wording)
