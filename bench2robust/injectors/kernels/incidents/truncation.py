"""Truncation at a threshold of the environment (class A): a client folds at 4,000 characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Path
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import incident, text_leaves

__all__ = ["KERNELS"]

THRESHOLD = 4000
_SHORTEST = 24


def _fold(ctx: Context, value: Json) -> Sequence[Place]:
    """Cut the longest prose at the threshold, or, if it is shorter, after three fifths."""
    texts = [(path, text) for path, text in text_leaves(value) if len(text) >= _SHORTEST]
    if not texts:
        return ()
    path, text = max(texts, key=lambda place: len(place[1]))
    return [(path, text[: THRESHOLD if len(text) > THRESHOLD else len(text) * 3 // 5])]


def _halve(ctx: Context, value: Json) -> Sequence[Place]:
    """Keep the first half of the longest list; what counts its elements stays."""
    lists = [(path, items) for path, items in _lists(value) if len(items) >= 2]
    if not lists:
        return ()
    path, items = max(lists, key=lambda place: len(place[1]))
    return [(path, items[: len(items) // 2])]


def _lists(value: Json, path: Path = ()) -> Iterator[tuple[Path, list[Json]]]:
    if isinstance(value, list):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for step, item in items:
        if isinstance(item, (dict, list)):
            yield from _lists(item, (*path, step))


KERNELS = (
    incident("env_threshold_truncation", "The longest text ends early.", _fold),
    incident(
        "env_threshold_truncation_list",
        "The longest list ends early.",
        lambda ctx, value: _halve(ctx, value) if isinstance(value, (dict, list)) else (),
    ),
)
