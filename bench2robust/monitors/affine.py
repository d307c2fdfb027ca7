"""Checking a linear relation between the numbers of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import occurrences, split
from bench2robust.monitors.readers import evaluate
from bench2robust.monitors.terms import Term, read_term

__all__ = ["Relation", "read_relation", "tolerance"]

MOST_TERMS = 100
"""Terms of one relation; mining finds relations of three."""


def tolerance(scale: float) -> float:
    """Return the largest residual that is let pass at run time (the paper's 1e-5).

    Args:
        scale: the sum of the absolute values of the summands; beyond 10,000 rounding of that
            many digits counts.
    """
    return max(1e-5, 1e-9 * scale)


class Relation(NamedTuple):
    """The sum of ``terms`` (coefficient, term) plus ``constant`` is 0.

    Attributes:
        guard: path of the field on which it depends whether the relation holds, or ``""``.
        values: the guard's values for which it does.
    """

    terms: tuple[tuple[float, Term], ...]
    constant: float
    guard: str
    values: tuple[Json, ...]

    def applies(self, result: Json) -> bool:
        """Say whether the guard lets the relation hold for a result."""
        if not self.guard:
            return True
        found = [value for _, value in occurrences(result, split(self.guard))]
        return len(found) == 1 and type(found[0]) is str and found[0] in self.values

    def sides(self, result: Json) -> tuple[float, float] | None:
        """Return (what the first term should be, what it is), or None where a term is missing."""
        numbers = [evaluate(term, result) for _, term in self.terms]
        if None in numbers:
            return None
        parts = [c * n for (c, _), n in zip(self.terms, numbers, strict=True) if n is not None]
        lead = self.terms[0][0]
        return -(sum(parts[1:]) + self.constant) / lead, parts[0] / lead

    def holds(self, result: Json) -> bool:
        """Say whether a result keeps it; one that lacks a term breaks nothing."""
        if not self.applies(result):
            return True
        numbers = [evaluate(term, result) for _, term in self.terms]
        total, scale = self.constant, abs(self.constant)
        for (coefficient, _), number in zip(self.terms, numbers, strict=True):
            if number is None:
                return True
            total += coefficient * number
            scale += abs(coefficient * number)
        return abs(total) <= tolerance(scale)

    def __str__(self) -> str:
        lead, *rest = self.terms
        right = "".join(_signed(-c / lead[0], str(term)) for c, term in rest)
        if self.constant or not rest:
            right += _signed(-self.constant / lead[0], "")
        right = f"-{right[3:]}" if right.startswith(" - ") else right.removeprefix(" + ")
        text = f"{lead[1]} = {right}"
        values = ", ".join(map(str, self.values))
        return f"{text}, where {self.guard[1:]} is {values}" if self.guard else text


def read_relation(params: Mapping[str, Any]) -> Relation:
    """Return the relation of an invariant's parameters.

    The parameters are ``terms`` ([[coefficient, term], …]; see :class:`Term`), ``constant``, and
    where it is conditional ``guard`` ({path, values}).

    Raises:
        ValueError: they say no relation.
    """
    rows = params.get("terms")
    if not isinstance(rows, list) or not 0 < len(rows) <= MOST_TERMS or not all(map(_is_row, rows)):
        raise ValueError(f"terms must be a list of 1 to {MOST_TERMS} [coefficient, term]")
    terms = tuple((float(coefficient), read_term(row)) for coefficient, row in rows)
    constant = params.get("constant", 0.0)
    if not _is_number(constant) or abs(terms[0][0]) < 1e-18:
        raise ValueError("constant must be a number, and the first coefficient not near 0")
    guard = params.get("guard")
    if guard is None:
        return Relation(terms, float(constant), "", ())
    if not isinstance(guard, Mapping) or not isinstance(guard.get("path"), str):
        raise ValueError("guard must have a path and values")
    split(guard["path"])
    values = guard.get("values")
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError("guard.values must be a list of texts")
    return Relation(terms, float(constant), guard["path"], tuple(values))


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and _is_number(row[0])


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e18


def _signed(factor: float, name: str) -> str:
    sign, size = ("-" if factor < 0 else "+"), abs(factor)
    number = f"{size:g}" if size != 1 or not name else ""
    return f" {sign} {number}{' * ' if number and name else ''}{name}"
