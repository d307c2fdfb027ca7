"""What a monitor finds in a result: broken invariants, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bench2robust.core.types import ToolCall, ToolResult

__all__ = ["CODES", "Monitor", "Violation"]

# The order in which violations of one result are told; the first is the witness of a receipt.
CODES = (
    "explicit_error",
    "missing_learned_field",
    "learned_type_mismatch",
    "learned_echo_mismatch",
    "nonpositive_value",
    "unseen_category",
    "affine_relation_broken",
    "unexpected_field",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant.

    Attributes:
        code: one of ``CODES``, or the code of an extension class.
        path: where in the result, as a JSON pointer (RFC 6901); ``""`` is the whole result.
        expected: what the contract asks for, a JSON value.
        observed: what the result holds, a JSON value.
        detail: the same in a sentence.
    """

    code: str
    path: str
    expected: Any
    observed: Any
    detail: str


class Monitor(Protocol):
    """Anything that checks a tool's result against what is known of the tool."""

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        """Return what is wrong with a result; nothing for a tool that is not known."""
        ...

    def covers(self, tool: str) -> bool:
        """Return whether anything is known of a tool."""
        ...
