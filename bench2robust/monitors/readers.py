"""Reading terms from results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import EACH, split, unescape
from bench2robust.monitors.terms import LACKS, LARGEST, MOST_KEYS, Term, adding, number_of

__all__ = ["Reader", "evaluate", "place", "reader", "reader_of_all"]

_LEAST = -LARGEST

Reader = Callable[[Json], list[float] | None]
"""Reads the numbers of some terms from a result, or None where it lacks one."""


def evaluate(term: Term, value: Json) -> float | None:
    """Return the number that a result has for a term, or None if it lacks it."""
    return reader(term)(value)


@lru_cache(maxsize=4096)
def reader(term: Term) -> Callable[[Json], float | None]:
    """Return the function that reads a term from a result."""
    read = reader_of_all((term,))

    def read_one(result: Json) -> float | None:
        numbers = read(result)
        return None if numbers is None else numbers[0]

    return read_one


def place(term: Term) -> str:
    """Return the path of the number or list that a term is read from."""
    return term.path.partition(f"/{EACH}/")[0]


@lru_cache(maxsize=1024)
def reader_of_all(terms: tuple[Term, ...]) -> Reader:
    """Return the function that reads terms; it goes once to a place that consecutive ones share."""
    places = [
        ([unescape(step) for step in split(path)], *_folds(list(found)))
        for path, found in groupby(terms, place)
    ]

    def read(result: Any) -> list[float] | None:
        # Mining is mostly this.
        numbers: list[float] = []
        try:
            for keys, is_list, folds in places:
                value = result
                for key in keys:
                    if len(value) > MOST_KEYS:
                        return None
                    value = value[key]
                if is_list and len(value[0]) > MOST_KEYS:
                    return None
                for fold in folds:
                    number = fold(value)
                    if not _LEAST <= number <= LARGEST:
                        return None
                    numbers.append(number)
        except LACKS:
            return None
        return numbers

    return read


def _folds(terms: Sequence[Term]) -> tuple[bool, list[Callable[[Any], Any]]]:
    """Return whether terms look into the elements of their list, and how each is made of it."""
    plain = {"value": number_of, "length": _length}
    folds = [plain.get(term.fold) or adding(term) for term in terms]
    return any(term.fold not in plain for term in terms), folds


def _length(items: Any) -> float:
    if type(items) is not list:
        raise TypeError(items)
    return len(items) + 0.0
