"""Paths into JSON values, and patterns over paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from bench2robust.core.canonical import Json

__all__ = ["MISSING", "Path", "Pattern", "get", "leaves", "matches", "show"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the root of a JSON value; () is the root."""

Pattern: TypeAlias = tuple[str, ...]
"""A path in which ``*`` stands for any one key or list position."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""What :func:`get` returns where a path leads nowhere."""


def get(value: Json, path: Path) -> Json:
    """Return what lies at ``path`` in ``value``, or ``MISSING``."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield (path, scalar) for every scalar in ``value``, depth first."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def matches(pattern: Pattern, path: Path) -> bool:
    """Say whether ``pattern`` matches the first ``len(pattern)`` steps of ``path``."""
    if len(pattern) > len(path):
        return False
    return all(p in ("*", s) for p, s in zip(pattern, path, strict=False))


def show(path: Path) -> str:
    """Return a path for people: ``items[0].price``; the root is ``$``."""
    text = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path)
    return text.removeprefix(".") or "$"
