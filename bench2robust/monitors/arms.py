"""The arms of the monitor studies by name: which detector, when a warning comes, how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bench2robust.core.backend import ToolBackend
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.monitor import OutcomeMonitor, ReceiptStyle
from bench2robust.monitors.receipts import RETAIL, Envelope, Wording
from bench2robust.monitors.recovery import Substitutes
from bench2robust.monitors.triggers import Always, Matched, Never, OnViolation, TriggerMaker
from bench2robust.monitors.verify import AlwaysVerify
from bench2robust.monitors.violation import Monitor, Violation

__all__ = ["ARMS", "Arm", "Only", "Watcher", "make_arm"]

Watcher: TypeAlias = OutcomeMonitor | AlwaysVerify
"""A wrapper with a ledger of its checks."""

SHAPE = frozenset({"missing_learned_field", "learned_type_mismatch"})
"""What a schema of types and required fields can find."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm.

    Attributes:
        summary: one line for people.
        codes: the violations that the detector tells; None for all.
        verifies: the runtime makes a second call after each read instead of warning.
    """

    summary: str
    trigger: TriggerMaker = OnViolation
    envelope: Envelope = "v2"
    codes: frozenset[str] | None = None
    verifies: bool = False


ARMS: Mapping[str, Arm] = {
    "baseline": Arm("Checks, and says nothing to the agent.", Never),
    "advisory": Arm("A receipt on each violation."),
    "advisory_v1": Arm(
        "The same, in the compact schema of the frozen confirmation.", envelope="v1"
    ),
    "advisory_text": Arm("The same, as text behind the result.", envelope="text"),
    "schema": Arm("A receipt on wrong types and missing fields only.", codes=SHAPE),
    "generic": Arm("A fixed caution on each violation.", envelope="generic"),
    "placebo": Arm("The caution on the next sound result instead.", Matched, "generic"),
    "always_warn": Arm("The caution on every result.", Always, "generic"),
    "always_warn_stripped": Arm("The same without recovery tools.", Always, "stripped"),
    "always_verify": Arm("A second read by the runtime after each read.", verifies=True),
}
"""Clean advisory is ``advisory`` without faults; the reviewer loop is in ``evaluation``."""


class Only:
    """A monitor that tells some kinds of violations only.

    Args:
        codes: the kinds that it tells.
    """

    def __init__(self, monitor: Monitor, codes: frozenset[str]) -> None:
        self._monitor = monitor
        self._codes = codes

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        """Return the violations of these kinds."""
        return tuple(v for v in self._monitor.check(call, result) if v.code in self._codes)

    def covers(self, tool: str) -> bool:
        """Return whether anything is known of a tool."""
        return self._monitor.covers(tool)


def make_arm(
    name: str,
    inner: ToolBackend,
    monitor: Monitor,
    substitutes: Substitutes | None = None,
    wording: Wording = RETAIL,
) -> Watcher:
    """Put an arm around a tool backend.

    Args:
        name: one of ``ARMS``.
        monitor: what is known of the tools.
        substitutes: tool to its public substitutes; by default none.
        wording: of text receipts.

    Raises:
        UnknownNameError: there is no such arm.
    """
    if name not in ARMS:
        raise UnknownNameError("monitor arm", name, ARMS)
    arm, substitutes = ARMS[name], substitutes or {}
    if arm.verifies:
        return AlwaysVerify(inner, substitutes)
    detector = monitor if arm.codes is None else Only(monitor, arm.codes)
    style = ReceiptStyle(arm.envelope, substitutes, wording)
    return OutcomeMonitor(inner, detector, style, arm.trigger())
