"""What the fallback paths share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.types import ToolCall

__all__ = ["Arguments", "path", "text_of"]

Arguments: TypeAlias = Mapping[str, Any]


def path(
    source: str,
    target: str,
    granularity: Literal["all", "some", "none"],
    note: str,
    calls: Callable[[Arguments], list[ToolCall]],
    read: Callable[[Arguments, list[Json]], Json | None],
) -> FallbackPath:
    """Return a path whose calls follow from the arguments; without one that is needed, none."""

    def formed(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
        try:
            return calls(arguments)
        except KeyError:
            return None

    return FallbackPath(source, target, granularity, note, formed, read)


def text_of(result: Json, key: str) -> str | None:
    """Return a text field of a result; None where there is none."""
    found = result.get(key) if isinstance(result, dict) else None
    return found if isinstance(found, str) else None
