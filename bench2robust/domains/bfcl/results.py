"""What a tool returned, as the text that BFCL shows, and whether it is an error."""

from __future__ import annotations

import json
from typing import Any

from bench2robust.core.canonical import MAX_TEXT
from bench2robust.core.types import ToolResult
from bench2robust.domains.refusing import encodable

__all__ = ["failure", "refusal", "to_result"]


def to_result(value: Any) -> ToolResult:
    """Return a value as BFCL shows it: texts as they are, dictionaries as JSON, else ``str``.

    Its tools report their errors in the value. A text that is too long to be handled is an error.
    """
    try:
        text = value if isinstance(value, str) else _written(value)
        text.encode()
    except Exception as error:  # a foreign __str__ may raise anything
        return failure(error)
    if len(text) > MAX_TEXT:
        return refusal(f"The result has {len(text)} characters; at most {MAX_TEXT} can be shown.")
    return ToolResult(text, _is_error(value))


def _written(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _is_error(value: Any) -> bool:
    if isinstance(value, list) and value:
        return _is_error(value[0]) or (isinstance(value[0], str) and value[0].startswith("Error:"))
    return isinstance(value, dict) and "error" in value


def failure(error: Exception) -> ToolResult:
    """Return what BFCL shows of an exception."""
    try:
        told = str(error)
    except Exception:
        told = type(error).__name__
    return ToolResult(_safe(f"Error during execution: {told}"), is_error=True)


def refusal(message: str) -> ToolResult:
    """Return an error of this adapter's own."""
    return ToolResult(_safe(f"Error: {message}"), is_error=True)


def _safe(text: str) -> str:
    return encodable(text[:2000])
