"""Paths of contracts: JSON pointers (RFC 6901) in which ``*`` stands for every element of a list.

``**`` stands for every value of an object whose key is data (an id, a date). A key that itself
holds a star is written with ``~2`` in its place, as a slash is with ``~1`` and a tilde with ``~0``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Path
from bench2robust.monitors.lexicon import is_data_key

__all__ = ["EACH", "EVERY", "Steps", "join", "occurrences", "pointer", "split"]

Steps = tuple[str, ...]
"""Escaped steps of a contract path: keys, ``*`` and ``**``."""

EACH = "*"
"""The step to every element of a list."""
EVERY = "**"
"""The step to every value of an object whose key is data."""


def escape(key: str) -> str:
    """Return a key as a step of a contract path."""
    if "~" in key or "/" in key or "*" in key:
        return key.replace("~", "~0").replace("/", "~1").replace("*", "~2")
    return key


def unescape(step: str) -> str:
    """Return the key that a step of a contract path stands for."""
    if "~" in step:
        return step.replace("~2", "*").replace("~1", "/").replace("~0", "~")
    return step


def join(steps: Iterable[str]) -> str:
    """Return the contract path of escaped steps; the root is ``""``."""
    return "".join(f"/{step}" for step in steps)


def split(path: str) -> Steps:
    """Return the escaped steps of a contract path."""
    return tuple(path.split("/")[1:])


def pointer(path: Path) -> str:
    """Return the JSON pointer of a place in a value."""
    return "".join(
        f"/{step}" if isinstance(step, int) else "/" + step.replace("~", "~0").replace("/", "~1")
        for step in path
    )


def occurrences(value: Json, steps: Steps, at: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield (place, value) wherever a contract path leads in ``value``, in document order."""
    if not steps:
        yield at, value
        return
    step, rest = steps[0], steps[1:]
    if step == EACH:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from occurrences(item, rest, (*at, index))
    elif isinstance(value, dict):
        keys = filter(is_data_key, value) if step == EVERY else (unescape(step),)
        for key in keys:
            if key in value:
                yield from occurrences(value[key], rest, (*at, key))
