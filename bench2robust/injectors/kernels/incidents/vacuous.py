"""Swallowed execution (class C): 67 checks ran ``exec("")``, and every one of them passed."""

from __future__ import annotations

from collections.abc import Iterator

from bench2robust.core.canonical import Json, same_json
from bench2robust.core.paths import Path
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import incident, is_number, key_of

__all__ = ["KERNEL"]

_SUCCESS = frozenset({"status", "ok", "success", "code"})


def _empty(ctx: Context, value: Json) -> list[Place]:
    places = [(path, after) for path, before, after in _all(value) if not same_json(before, after)]
    return places if len(places) >= 2 else []


def _all(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json, Json]]:
    """Yield place, value and its vacuum: the empty value of its type, or a sign of success."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _all(item, (*path, key))
    elif path:
        yield path, value, _vacuum(key_of(path) in _SUCCESS, value)


def _vacuum(success: bool, value: Json) -> Json:
    if isinstance(value, bool):
        return success
    if is_number(value):
        return 200 if success else type(value)(0)
    if isinstance(value, str):
        return "ok" if success else ""
    return [] if isinstance(value, list) else value


KERNEL = incident("vacuous_exec_swallow", "Everything is empty, and the status says ok.", _empty)
