"""Edits of a result's text: on a private copy, with a field-level diff, in the text's own style."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import orjson

from bench2robust.core.canonical import Json, parse_json, same_json
from bench2robust.core.paths import MISSING, Path, Pattern, get
from bench2robust.injectors.events import Change
from bench2robust.injectors.kernels.base import Corruption

__all__ = ["Edit", "Place", "edited", "rewritten"]

Edit: TypeAlias = Callable[[Path, Json], Json]
"""From a place and its value to the new value, or ``MISSING`` to leave it."""

Place: TypeAlias = tuple[Path, Json]
"""A place in a value and what it is to hold; ``MISSING`` takes the field away."""

Writer: TypeAlias = Callable[[Json], str]


def _orjson(value: Json) -> str:
    return orjson.dumps(value).decode()


_COMPACT = (",", ":")
_WRITERS: tuple[Writer, ...] = (
    _orjson,
    json.dumps,
    partial(json.dumps, ensure_ascii=False),
    partial(json.dumps, indent=2),
    partial(json.dumps, indent=2, ensure_ascii=False),
    partial(json.dumps, separators=_COMPACT),
)


def edited(content: str, edits: Sequence[tuple[Pattern, Edit]]) -> Corruption | None:
    """Apply edits to every place that their patterns match.

    Args:
        content: text of a true result: a JSON object or list, else a bare string, which only the
            pattern () matches.
        edits: pattern and edit, applied in order.

    Returns:
        The changed text, formatted as ``content`` is, with every change; None if nothing changed.
    """
    if not edits:
        return None
    value, write = _parse(content)
    changes: list[Change] = []
    for pattern, edit in edits:
        value = _apply(value, pattern, edit, changes)
    return Corruption(write(value), False, tuple(changes)) if changes else None


def rewritten(content: str, places: Sequence[Place]) -> Corruption | None:
    """Put new values at places of a text, as :func:`edited` does at patterns.

    A place that already holds its value is left out of the changes; ``after`` of a field that is
    taken away is None.
    """
    if not places:
        return None
    value, write = _parse(content)
    changes: list[Change] = []
    for path, after in places:
        before = get(value, path)
        if before is not MISSING and not same_json(before, after):
            value = _put(value, path, after)
            changes.append(Change(path, before, None if after is MISSING else after))
    return Corruption(write(value), False, tuple(changes)) if changes else None


def _put(value: Json, path: Path, after: Json) -> Json:
    if not path:
        return after
    holder = get(value, path[:-1])
    if after is MISSING:
        del holder[path[-1]]
    else:
        holder[path[-1]] = after
    return value


def _parse(content: str) -> tuple[Json, Writer]:
    # Not core's parse_result: its values are cached and shared, and this one is changed.
    if content[:1] in ("{", "["):
        try:
            value = parse_json(content)
        except ValueError:
            return content, str
        return value, _style(content, value)
    return content, str


def _style(content: str, value: Json) -> Writer:
    """Return the writer that gives ``content`` byte for byte, so that a rewrite does not show."""
    return next((write for write in _WRITERS if write(value) == content), _orjson)


def _apply(value: Json, pattern: Pattern, edit: Edit, changes: list[Change]) -> Json:
    if not pattern:
        after = edit((), value)
        if after is MISSING:
            return value
        changes.append(Change((), value, after))
        return after
    for path, holder in _holders(value, pattern[:-1]):
        for key, before in _children(holder, pattern[-1]):
            place = (*path, key)
            after = edit(place, before)
            if after is not MISSING:
                holder[key] = after
                changes.append(Change(place, before, after))
    return value


def _holders(value: Json, pattern: Pattern) -> list[tuple[Path, Json]]:
    found: list[tuple[Path, Json]] = [((), value)]
    for step in pattern:
        found = [((*p, k), v) for p, holder in found for k, v in _children(holder, step)]
    return found


def _children(holder: Json, step: str) -> Sequence[tuple[str | int, Json]]:
    if isinstance(holder, dict):
        if step == "*":
            return list(holder.items())
        return ((step, holder[step]),) if step in holder else ()
    if isinstance(holder, list) and step == "*":
        return list(enumerate(holder))
    return ()
