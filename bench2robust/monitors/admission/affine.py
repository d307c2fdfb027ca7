"""Invariants between numbers of one result, with their guards and without the redundant ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.gates import Gate, admitted
from bench2robust.monitors.groups import Group
from bench2robust.monitors.readers import place
from bench2robust.monitors.relations import Relations
from bench2robust.monitors.terms import Term

__all__ = ["affine_invariants"]

_CODE = "affine_relation_broken"
_FEWEST_RECORDS = 5
_PAIR_POINTS = 3
_SUM_POINTS = 5
_TINY = 1e-9

Form = tuple[tuple[tuple[float, Term], ...], float]
"""(coefficients and terms, constant) of: their sum plus the constant is 0."""


class Candidate(NamedTuple):
    """A relation that is justified on the records of some guard values, or on all.

    Attributes:
        guard: path of the guard, ``""`` for all records.
        values: the guard's values on which it holds.
    """

    form: Form
    guard: str
    values: tuple[str, ...]
    n: int

    def rank(self) -> tuple[object, ...]:
        """Return what the plainest relation has least of."""
        terms = [term for _, term in self.form[0]]
        conditions = sum(bool(term.where) for term in terms)
        names = sum(len(str(term)) for term in terms)
        return bool(self.guard), -len(self.values), len(terms), conditions, names, str(self.form)


def affine_invariants(relations: Relations, gate: Gate) -> Iterator[Invariant]:
    """Yield the relations that none of the plainer ones implies, plainest first."""
    found = [*_everywhere(relations.everywhere, gate)]
    for guard in relations.guards:
        found += _guarded(guard, relations.parts(guard), gate)
    kept: list[Candidate] = []
    for candidate in sorted(found, key=Candidate.rank):
        if not _implied(candidate, kept):
            kept.append(candidate)
            yield _invariant(candidate)


def _everywhere(group: Group, gate: Gate) -> Iterator[Candidate]:
    if group.n >= _FEWEST_RECORDS and gate.enough(_CODE, group.n):
        for form in _forms(group):
            yield Candidate(form, "", (), group.n)


def _guarded(guard: str, groups: Mapping[str, Group], gate: Gate) -> Iterator[Candidate]:
    """Yield what holds for some values of a guard; a value with few records is not checked."""
    held: dict[Form, list[str]] = {}
    for value, group in sorted(groups.items()):
        if group.n >= _FEWEST_RECORDS and gate.enough(_CODE, group.n):
            for form in _forms(group):
                held.setdefault(form, []).append(value)
    for form, values in held.items():
        n = sum(groups[value].n for value in values)
        yield Candidate(form, guard, tuple(values), n)


def _forms(group: Group) -> Iterator[Form]:
    """Yield the justified relations of a group: enough distinct points, every term varied."""
    for (x, y), (a, b) in group.lines.items():
        if not _one_kind(x, y) and _distinct(group, x) >= _points(x, y):
            yield ((1.0, x), (-a, y)), 0.0 - b
    for x, y, z in group.triples:
        counts = sorted(_distinct(group, term) for term in (x, y, z))
        if counts[0] >= _PAIR_POINTS and counts[-1] >= _SUM_POINTS:
            yield ((1.0, x), (-1.0, y), (-1.0, z)), 0.0


def _one_kind(x: Term, y: Term) -> bool:
    """Say whether a line between terms says only that the elements of a list are of one kind.

    That a sum equals one of its own parts says that all belong to the part; that a list is as long
    as the lists in it together, that each of these has one element. It is no balance, and breaks
    with the first element of another kind.
    """
    return x.path == y.path or (x.counts and y.counts and place(x) == place(y))


def _points(*terms: Term) -> int:
    plain = all(term.fold in ("value", "length") for term in terms)
    return _PAIR_POINTS if plain else _SUM_POINTS


def _distinct(group: Group, term: Term) -> int:
    seen = group.values[term]
    return _SUM_POINTS if seen is None else len(seen)


def _implied(candidate: Candidate, kept: Iterable[Candidate]) -> bool:
    """Say whether relations that hold on the same records imply it (Gaussian elimination)."""
    basis: list[dict[object, float]] = []
    for other in kept:
        whole = not other.guard
        same = other.guard == candidate.guard and set(other.values) >= set(candidate.values)
        if whole or same:
            _reduce_into(basis, _vector(other.form))
    return not _reduced(basis, _vector(candidate.form))


def _vector(form: Form) -> dict[object, float]:
    vector: dict[object, float] = {term: coefficient for coefficient, term in form[0]}
    if form[1]:
        vector[""] = form[1]
    return vector


def _reduce_into(basis: list[dict[object, float]], vector: dict[object, float]) -> None:
    rest = _reduced(basis, vector)
    if rest:
        basis.append(rest)


def _reduced(basis: list[dict[object, float]], vector: dict[object, float]) -> dict[object, float]:
    """Return what is left of a vector when the basis is taken out; its first entry leads."""
    rest = dict(vector)
    for row in basis:
        lead = next(iter(row))
        if lead in rest:
            factor = rest[lead] / row[lead]
            for key, value in row.items():
                rest[key] = rest.get(key, 0.0) - factor * value
            rest = {k: v for k, v in rest.items() if abs(v) > _TINY and k != lead}
    return rest


def _invariant(candidate: Candidate) -> Invariant:
    terms, constant = candidate.form
    params: dict[str, Json] = {
        "terms": [[coefficient, term.to_json()] for coefficient, term in terms],
        "constant": constant,
    }
    if candidate.guard:
        params["guard"] = {"path": candidate.guard, "values": list(candidate.values)}
    return admitted(_CODE, terms[0][1].path, candidate.n, params)
