"""Reading terms from results."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import EACH, split, unescape
from bench2robust.monitors.terms import LACKS, MOST_KEYS, Term, number_of, total_of

__all__ = ["evaluate", "reader"]


def evaluate(term: Term, value: Json) -> float | None:
    """Return the number that a result has for a term, or None if it lacks it."""
    return reader(term)(value)


@lru_cache(maxsize=4096)
def reader(term: Term) -> Callable[[Json], float | None]:
    """Return the function that reads a term from a result."""
    path, star, _ = term.path.partition(f"/{EACH}/")
    keys = [unescape(step) for step in split(path)]
    listed = term.fold != "value"
    read: Callable[[Any], float | None] = total_of(term) if star else number_of
    if term.fold == "length":
        read = _length

    def read_result(value: Json) -> float | None:
        try:
            for key in keys:
                if len(value) > MOST_KEYS:
                    return None
                value = value[key]
        except LACKS:
            return None
        return None if listed and type(value) is not list else read(value)

    return read_result


def _length(items: list[Json]) -> float:
    return float(len(items))
