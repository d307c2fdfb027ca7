"""The ledger of a monitor: one row for each result that it looked at."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from bench2robust.core.canonical import canonical
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.violation import Violation

__all__ = ["Check"]


class Check(NamedTuple):
    """One result, what was found in it, and what the agent got.

    Attributes:
        call: the call.
        raw: what came back.
        delivered: the text that the agent got.
        covered: whether anything is known of the tool.
        violations: what is wrong with the result; empty for explicit errors, which are no secret.
        recovery: the recovery tools that a receipt on it names or would name.
        warned: whether a receipt was attached.
        calls: how many calls this one took below the monitor; more than one where it verifies.
    """

    call: ToolCall
    raw: ToolResult
    delivered: str
    covered: bool
    violations: tuple[Violation, ...]
    recovery: tuple[str, ...]
    warned: bool
    calls: int = 1

    @property
    def raw_sha256(self) -> str:
        """SHA-256 of the raw result."""
        return _sha256(self.raw.content)

    @property
    def delivered_sha256(self) -> str:
        """SHA-256 of what the agent got."""
        return _sha256(self.delivered)

    @property
    def arguments_sha256(self) -> str:
        """SHA-256 of the canonical arguments."""
        return _sha256(canonical(self.call.arguments))


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
