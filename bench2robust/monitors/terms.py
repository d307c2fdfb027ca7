"""Terms of relations: the numbers that a result states or implies.

A term is a number at a place outside lists, the length of a list, a sum over a list, or the summed
lengths of the lists in a list. A record has a term or lacks it; it never has half of one: a sum
needs its field in every element (in every one of its part, and in the first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.monitors.lexicon import is_category, is_data_key, is_identifier, is_quantity
from bench2robust.monitors.pointers import EACH, escape, split, unescape

__all__ = [
    "LACKS",
    "LARGEST",
    "MOST_KEYS",
    "MOST_PARTS",
    "Term",
    "adding",
    "number_of",
    "read_term",
    "terms_of",
]

_DEEPEST = 3
MOST_KEYS = 64
"""Wider objects are no place for relations."""
LARGEST = 1e15
"""Beyond, sums of floats lose too much."""
_LONGEST_VALUE = 64
MOST_PARTS = 8
"""Into so many parts at most a list is divided by the values of a sibling."""
Adding = Callable[[Sequence[Any]], float]
LACKS = (TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""What reading raises where a result has no such list, element or number."""


class Term(NamedTuple):
    """One number of a result.

    Attributes:
        fold: ``value``, ``length`` (of the list at ``path``), ``sum`` (of the numbers at
            ``path``, which holds one ``*``) or ``lengths`` (of the lists at such a path).
        path: a contract path.
        times: the key of a sibling by which each summand is multiplied, or ``""``.
        where: (key, value) of a sibling that a summand must have, or ``()``.
    """

    fold: str
    path: str
    times: str = ""
    where: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it counts things, rather than measuring them."""
        return self.fold in ("length", "lengths")

    @property
    def scope(self) -> str:
        """The path of the object that has the number or the list."""
        return self.path.split(f"/{EACH}")[0].rpartition("/")[0]

    def to_json(self) -> dict[str, Json]:
        """Return the term as it stands in a contract."""
        row: dict[str, Json] = {"fold": self.fold, "path": self.path}
        if self.times:
            row["times"] = self.times
        if self.where:
            row["where"] = list(self.where)
        return row

    def __str__(self) -> str:
        name = ".".join(map(unescape, split(self.path))) or "the list"
        if self.fold == "value":
            return name
        if self.fold in ("length", "lengths"):
            return f"{'len' if self.fold == 'length' else 'sum of len'}({name})"
        by = f" * {self.times}" if self.times else ""
        only = f" where {self.where[0]} = {self.where[1]}" if self.where else ""
        return f"sum({name}{by}{only})"


def read_term(row: Any) -> Term:
    """Return the term of a contract's row.

    Raises:
        ValueError: it is no term.
    """
    if not isinstance(row, Mapping) or row.get("fold") not in ("value", "length", "sum", "lengths"):
        raise ValueError("a term needs fold: value, length, sum or lengths")
    path, times, where = row.get("path"), row.get("times", ""), row.get("where", ())
    texts = (path, times, *where) if isinstance(where, list | tuple) else (None,)
    if not all(isinstance(text, str) for text in texts) or len(texts) not in (2, 4):
        raise ValueError("path and times of a term must be texts, where a list of two texts")
    stars = split(str(path)).count(EACH)
    if stars != (1 if row["fold"] in ("sum", "lengths") else 0):
        raise ValueError("the path of a sum has one *, that of other terms none")
    return Term(str(row["fold"]), str(path), str(times), tuple(where))


def terms_of(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[Term, float]]:
    """Yield every (term, number) of a result."""
    if type(value) is dict:
        if len(value) > MOST_KEYS or depth > _DEEPEST:
            return
        for key, item in value.items():
            if is_data_key(key):
                continue
            at = f"{path}/{escape(key)}"
            number = number_of(item)
            if number is None:
                yield from terms_of(item, at, depth + 1)
            elif not is_identifier(key):
                yield Term("value", at), number
    elif type(value) is list:
        yield Term("length", path), float(len(value))
        if value and type(value[0]) is dict and len(value[0]) <= MOST_KEYS:
            for term in _terms_of_list(value, f"{path}/{EACH}"):
                found = total(adding(term), value)
                if found is not None:
                    yield term, found


def _terms_of_list(items: list[Any], path: str) -> Iterator[Term]:
    """Yield the terms that a list may have: what its first element lacks, the list lacks."""
    first = items[0]
    numbers = [key for key, item in first.items() if number_of(item) is not None]
    kinds = [key for key, item in first.items() if type(item) is str and is_category(key)]
    for key, item in first.items():
        at = f"{path}/{escape(key)}"
        if is_data_key(key):
            continue
        if type(item) is list:
            yield Term("lengths", at)
        elif key in numbers and not is_identifier(key):
            yield Term("sum", at)
            yield from (Term("sum", at, by) for by in numbers if by != key and is_quantity(by))
            for kind in kinds:
                values = _values(items, kind)
                yield from (Term("sum", at, where=(kind, value)) for value in sorted(values))


def _values(items: Sequence[Any], key: str) -> set[str]:
    """Return the values that elements have under a key, if they are few and short texts."""
    if not all(type(item) is dict for item in items):
        return set()
    held = {item.get(key) for item in items if type(item.get(key)) is str}
    few = len(held) <= MOST_PARTS and all(len(value) <= _LONGEST_VALUE for value in held)
    return held if few else set()


def number_of(value: Json) -> float | None:
    """Return a number that arithmetic can be done with."""
    if type(value) is int or type(value) is float:
        return value + 0.0 if abs(value) <= LARGEST else None  # no NaN, no -0.0
    return None


def total(add_up: Adding, items: Sequence[Any]) -> float | None:
    """Return the sum over a list, None where it has none or its elements are too wide."""
    try:
        if len(items[0]) > MOST_KEYS:
            return None
        found = add_up(items)
    except LACKS:
        return None
    return found if -LARGEST <= found <= LARGEST else None


# Plain loops, from 0.0: they cost less than ``sum`` over the few elements that most lists have,
# and round like the sums of compiled contracts whatever ``sum`` does in a version of Python.


def adding(term: Term) -> Adding:
    """Return the sum over a list that a term is; what it cannot add raises one of ``LACKS``."""
    key = unescape(term.path.rpartition("/")[2])
    if term.where:
        return _adding_part(key, *term.where)
    if term.times:
        return _adding_products(key, term.times)
    return _adding_lengths(key) if term.fold == "lengths" else _adding_numbers(key)


def _adding_numbers(key: str) -> Adding:
    def add_up(items: Sequence[Any]) -> float:
        found = 0.0
        for item in items:
            found += item[key]
        return found

    return add_up


def _adding_products(key: str, times: str) -> Adding:
    def add_up(items: Sequence[Any]) -> float:
        found = 0.0
        for item in items:  # times 1.0, for a text or a list would be repeated
            found += item[key] * 1.0 * item[times]
        return found

    return add_up


def _adding_lengths(key: str) -> Adding:
    def add_up(items: Sequence[Any]) -> float:
        found = 0
        for item in items:
            held = item[key]
            if type(held) is not list:
                raise TypeError(key)
            found += len(held)
        return found + 0.0

    return add_up


def _adding_part(key: str, sibling: str, wanted: str) -> Adding:
    """Return the sum over the elements with one value of a sibling; the first must have both."""

    def add_up(items: Sequence[Any]) -> float:
        first, found, met = items[0], 0.0, False
        if type(first[sibling]) is not str or number_of(first[key]) is None:
            raise KeyError(key)
        for item in items:
            if item.get(sibling) == wanted:
                found += item[key]
                met = True
        if not met or (len(items) > MOST_PARTS and wanted not in _values(items, sibling)):
            raise KeyError(wanted)
        return found

    return add_up
