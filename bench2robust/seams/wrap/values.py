"""What a Python tool returns as the text that faults and contracts work on, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from bench2robust.core.canonical import MAX_TEXT, Json
from bench2robust.seams.passage import Delivery

__all__ = ["delivered", "is_opaque", "json_arguments", "text_of"]

_ORDER = "ToolOutputMixin"


def text_of(value: Any) -> str:
    """Return a tool's return value as the text of a result.

    A text stays; a JSON value, a pydantic model or a dataclass becomes its JSON text; anything
    else what ``str`` makes of it. A framework's own order (LangGraph's ``Command``) has no text.
    """
    if isinstance(value, str):
        return value
    if any(kind.__name__ == _ORDER for kind in type(value).__mro__):
        return ""
    try:
        return orjson.dumps(value, default=_plain).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)


def is_opaque(value: Any) -> bool:
    """Say whether a value cannot be made again of its text: it is no text and no JSON.

    A generator, a set or a connection is one, and nothing (None) holds nothing that could be wrong.
    """
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return len(orjson.dumps(value, default=_plain)) > MAX_TEXT
    except (TypeError, ValueError, RecursionError):
        return True


def json_arguments(arguments: Mapping[str, Any]) -> dict[str, Json]:
    """Return arguments as JSON values; those that are none (a context, a connection) are left out.

    They are copies: what a tool does to its arguments changes no ledger.
    """
    found = {}
    for name, value in arguments.items():
        try:
            found[name] = orjson.loads(orjson.dumps(value, default=_plain))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError


def delivered(value: Any, got: Delivery) -> Any:
    """Return what an agent gets in the place of ``value``.

    The very same object where nothing is to be changed. Else a text for a text, JSON values for
    JSON values, a model for a model where the wrong values still make one, and a text for an
    error. What is said about a result stands after a text, and beside anything else:
    ``{"tool_result": …, "outcome_contract": …, "advisory": …}``.
    """
    if not got.touched:
        return value
    if isinstance(value, str) or got.is_error:
        return got.spoken
    shown = _parsed(value, got.content) if got.faulted else value
    return _with_notes(shown, got) if got.notes else shown


def _parsed(value: Any, content: str) -> Any:
    try:
        parsed = json.loads(content) if len(content) <= MAX_TEXT else content
    except (ValueError, RecursionError):
        return content
    if not isinstance(value, (dict, list, int, float, bool, type(None))):
        return _rebuilt(type(value), parsed)
    return parsed


def _rebuilt(kind: type, parsed: Json) -> Any:
    """Return a model or dataclass with other values, or the values where they make none."""
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).validate_python(parsed)
    except Exception:  # a class of somebody else's may refuse wrong values with anything
        return parsed


def _with_notes(shown: Any, got: Delivery) -> dict[str, Json]:
    said: dict[str, Json] = {"tool_result": shown}
    if got.receipt is not None:
        said["outcome_contract"] = got.receipt
    advice = got.notes[got.receipt is not None :]
    return said | ({"advisory": " ".join(advice)} if advice else {})
