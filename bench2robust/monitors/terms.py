"""Terms of relations: the numbers that a result states or implies.

A term is a number at a place outside lists, the length of a list, a sum over a list, or the summed
lengths of the lists in a list. A record has a term or lacks it; it never has half of one: a sum
needs its field in every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.monitors.lexicon import is_category, is_data_key, is_identifier, is_quantity
from bench2robust.monitors.pointers import EACH, escape, split, unescape

__all__ = ["Term", "evaluate", "read_term", "reader", "terms_of"]

_DEEPEST = 3
_MOST_KEYS = 64
_LARGEST = 1e15
_LONGEST_VALUE = 64


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
    if isinstance(value, dict):
        if len(value) > _MOST_KEYS or depth > _DEEPEST:
            return
        for key, item in value.items():
            if is_data_key(key):
                continue
            at = f"{path}/{escape(key)}"
            number = _number(item)
            if number is not None:
                if not is_identifier(key):
                    yield Term("value", at), number
            elif isinstance(item, dict | list):
                yield from terms_of(item, at, depth + 1)
    elif isinstance(value, list):
        yield Term("length", path), float(len(value))
        if value and all(type(item) is dict and len(item) <= _MOST_KEYS for item in value):
            yield from _terms_of_list(value, path)


def _terms_of_list(items: list[dict[str, Json]], path: str) -> Iterator[tuple[Term, float]]:
    for term in _candidates(items, f"{path}/{EACH}"):
        if term.where:
            yield from _parts(term, items)
        else:
            total = _folder(term)(items)
            if total is not None:
                yield term, total


def _candidates(items: list[dict[str, Json]], path: str) -> Iterator[Term]:
    """Yield the terms that a list may have; one that some element lacks is yet to be left out."""
    numbers, texts, lists = _fields(items)
    yield from (Term("lengths", f"{path}/{escape(key)}") for key in lists)
    for key in (key for key in numbers if not is_identifier(key)):
        at = f"{path}/{escape(key)}"
        yield Term("sum", at)
        yield from (Term("sum", at, times=by) for by in numbers if by != key and is_quantity(by))
        yield from (Term("sum", at, where=(kind, "")) for kind in texts if is_category(kind))


def _fields(items: list[dict[str, Json]]) -> tuple[list[str], list[str], list[str]]:
    """Return the keys under which some element has a number, a text, a list."""
    found: tuple[dict[str, None], ...] = ({}, {}, {})
    for item in items:
        for key, value in item.items():
            kind = type(value)
            place = 0 if kind in (int, float) else 1 if kind is str else 2 if kind is list else -1
            if place >= 0 and not is_data_key(key):
                found[place][key] = None
    numbers, texts, lists = (list(keys)[:_MOST_KEYS] for keys in found)
    return numbers, texts, lists


def _parts(term: Term, items: list[dict[str, Json]]) -> Iterator[tuple[Term, float]]:
    """Yield a sum for every value that its sibling has."""
    key = term.where[0]
    values = {item[key] for item in items if _is_text(item.get(key))}
    for value in sorted(values):
        part = term._replace(where=(key, value))
        total = _folder(part)(items)
        if total is not None:
            yield part, total


def evaluate(term: Term, value: Json) -> float | None:
    """Return the number that a result has for a term, or None if it lacks it."""
    return reader(term)(value)


@lru_cache(maxsize=4096)
def reader(term: Term) -> Callable[[Json], float | None]:
    """Return the function that reads a term from a result."""
    before, star, _ = term.path.partition(f"/{EACH}/")
    keys = [unescape(step) for step in split(before)]
    read = _folder(term) if star else _length if term.fold == "length" else _number

    def read_below(value: Json) -> float | None:
        for key in keys:
            if type(value) is not dict or len(value) > _MOST_KEYS:
                return None
            value = value.get(key)
        return read(value)

    def read_top(value: Json) -> float | None:
        if type(value) is dict and len(value) <= _MOST_KEYS:
            return read(value.get(top))
        return None

    top = keys[0] if keys else ""
    return read_top if len(keys) == 1 else read_below


def _length(value: Json) -> float | None:
    return float(len(value)) if type(value) is list else None


def _folder(term: Term) -> Callable[[Json], float | None]:
    """Return the function that sums over a list."""
    summands = _summands(term, unescape(term.path.rpartition("/")[2]))

    def fold(items: Json) -> float | None:
        try:
            if type(items) is not list or max(map(len, items)) > _MOST_KEYS:
                return None
            numbers = summands(items)
            if numbers:
                total = float(sum(numbers))
                return total if -_LARGEST <= total <= _LARGEST else None
            return None
        except (TypeError, KeyError, AttributeError, ValueError, OverflowError):
            return None  # the list is empty, an element is no object, or one lacks its number

    return fold


def _summands(term: Term, key: str) -> Callable[[Sequence[Any]], list[float]]:
    if term.where:
        sibling, wanted = term.where
        return lambda items: [item[key] for item in items if item.get(sibling) == wanted]
    if term.times:
        times = term.times
        return lambda items: [item[key] * item[times] for item in items]
    if term.fold == "lengths":
        return lambda items: [_length_or_fail(item[key]) for item in items]
    return lambda items: [item[key] for item in items]


def _length_or_fail(value: Json) -> int:
    if type(value) is not list:
        raise TypeError
    return len(value)


def _number(value: Json) -> float | None:
    """Return a number that arithmetic can be done with."""
    if type(value) is int or type(value) is float:
        return value + 0.0 if abs(value) <= _LARGEST else None  # no NaN, no -0.0
    return None


def _is_text(value: Json) -> bool:
    return type(value) is str and len(value) <= _LONGEST_VALUE
