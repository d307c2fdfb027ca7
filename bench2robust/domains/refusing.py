"""How a tool says that it refuses, in every domain."""

from __future__ import annotations

from bench2robust.core.types import ToolResult

__all__ = ["encodable", "refusal"]

_LONGEST = 500


def refusal(message: str) -> ToolResult:
    """Return an error result; it may quote what the agent sent, at any length."""
    return ToolResult(f"Error: {encodable(message[:_LONGEST])}", is_error=True)


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold; what an agent or a tool sends need not be one."""
    return text.encode("utf-8", "backslashreplace").decode()
