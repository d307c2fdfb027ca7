"""Reading terms from results."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import EACH, split, unescape
from bench2robust.monitors.terms import LACKS, LARGEST, MOST_KEYS, Term, adding, number_of

__all__ = ["evaluate", "reader"]


def evaluate(term: Term, value: Json) -> float | None:
    """Return the number that a result has for a term, or None if it lacks it."""
    return reader(term)(value)


@lru_cache(maxsize=4096)
def reader(term: Term) -> Callable[[Json], float | None]:
    """Return the function that reads a term from a result."""
    path = term.path.partition(f"/{EACH}/")[0]
    keys = [unescape(step) for step in split(path)]
    if term.fold in ("value", "length"):
        read = number_of if term.fold == "value" else _length
        return lambda result: read(_at(result, keys))
    add_up = adding(term)

    def read_sum(value: Any) -> float | None:
        # What terms.total does, written out: mining is mostly this.
        try:
            for key in keys:
                if len(value) > MOST_KEYS:
                    return None
                value = value[key]
            if type(value) is not list or len(value[0]) > MOST_KEYS:
                return None
            found = add_up(value)
        except LACKS:
            return None
        return found if -LARGEST <= found <= LARGEST else None

    return read_sum


def _at(value: Json, keys: list[str]) -> Json:
    for key in keys:
        if type(value) is not dict or len(value) > MOST_KEYS:
            return None
        value = value.get(key)
    return value


def _length(items: Json) -> float | None:
    return float(len(items)) if type(items) is list else None
