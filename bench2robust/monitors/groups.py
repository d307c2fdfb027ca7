"""Linear relations between the terms of a result, followed while they hold.

Two kinds: *lines* ``x = a*y + b`` (equality is the line with a = 1, b = 0) and *triples*
``x = y + z``. A :class:`Group` holds the relations that held on every record of a set.

The state is small and its merge exact. A term that has had one value so far can be in no relation
yet; a relation is born in the record where its last constant term changes, if the constants and
the relations known by then agree with it. So adding a record is merging a group of one record.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.readers import evaluate, place, reader_of_all
from bench2robust.monitors.terms import Term, read_term, terms_of

__all__ = ["Group", "Line", "Plan", "Triple"]

Line = tuple[Term, Term]
"""(x, y) of x = a*y + b; the same relation always has the same term first."""
Triple = tuple[Term, Term, Term]
"""(x, y, z) of x = y + z, y before z."""

MOST_VALUES = 8
_DIGITS = 9
_EXACT = 1e-9


def _mining_tolerance(*terms: float) -> float:
    """Return the largest residual of a relation that holds: rounding of float sums only."""
    return max(_EXACT, 1e-12 * sum(map(abs, terms)))


class Group:
    """What holds on every record of a set.

    Attributes:
        n: records.
        constants: term -> the one value that it has had.
        values: term in a relation -> its distinct values, None once there were more than
            ``MOST_VALUES``. A term that is in neither has changed and is in no relation, or was
            absent from a record.
        lines: pair of terms -> (a, b).
        triples: the triples that hold.

    Args:
        terms: the numbers of one record, for a group of one.
    """

    def __init__(self, terms: dict[Term, float] | None = None) -> None:
        self.n = 0 if terms is None else 1
        self.constants = terms or {}
        self.values: dict[Term, frozenset[float] | None] = {}
        self.lines: dict[Line, tuple[float, float]] = {}
        self.triples: set[Triple] = set()
        self._plan: Plan | None = None

    def copy(self) -> Group:
        """Return a group that changes apart."""
        group = Group(dict(self.constants))
        group.n, group.values = self.n, dict(self.values)
        group.lines, group.triples = dict(self.lines), set(self.triples)
        return group

    def plan(self, base: Plan | None = None) -> Plan:
        """Return how to read a record; ``base`` is the plan of all records, of which these are."""
        if self._plan is None or self._plan.base is not base:
            self._plan = Plan(self, base)
        return self._plan

    def count(self, plan: Plan, numbers: Sequence[float]) -> None:
        """Count a record that agrees with everything, which is the usual case."""
        self.n += 1
        for at, (seen, term) in plan.open.items():
            if numbers[at] not in seen:
                more = self.values[term] = _union(seen, frozenset((numbers[at],)))
                if more is None:
                    self._plan = None
                else:
                    plan.open[at] = more, term

    def absorb(self, result: Json) -> None:
        """Add a record that may disagree."""
        if self.n:
            found = {
                t: evaluate(t, result) for known in (self.constants, self.values) for t in known
            }
            self.merge(Group({term: x for term, x in found.items() if x is not None}))
        else:
            self.merge(Group(dict(terms_of(result))))

    def merge(self, other: Group) -> None:
        """Add the records of another group."""
        if not other.n:
            return
        if not self.n:
            self.__dict__.update(other.copy().__dict__)
            return
        constants = {t: c for t, c in self.constants.items() if other.constants.get(t) == c}
        moved = (self._terms() & other._terms()) - constants.keys()
        lines = self._lines_with(other, moved)
        triples = self._triples_with(other, moved)
        bound = {term for relation in (*lines, *triples) for term in relation}
        self.values = {term: _union(self._seen(term), other._seen(term)) for term in bound}
        self.n += other.n
        self.constants, self.lines, self.triples = constants, lines, triples
        self._plan = None

    def _terms(self) -> set[Term]:
        return {*self.constants, *self.values}

    def _seen(self, term: Term) -> frozenset[float] | None:
        constant = self.constants.get(term)
        return self.values[term] if constant is None else frozenset((constant,))

    def _lines_with(self, other: Group, moved: set[Term]) -> dict[Line, tuple[float, float]]:
        """Return the lines on which the records of both groups lie."""
        lines = {
            pair: line
            for one, two in ((self, other), (other, self))
            for pair, line in one.lines.items()
            if moved.issuperset(pair) and two._is_on(pair, line)
        }
        steps = [
            (term, self.constants[term], other.constants[term])
            for term in sorted(moved)
            if term in self.constants and term in other.constants
        ]
        for one, two in combinations(steps, 2):
            line = _through(one, two)
            if line is not None:
                lines[line[0]] = line[1]
        return lines

    def _is_on(self, pair: Line, line: tuple[float, float]) -> bool:
        if pair in self.lines:
            return self.lines[pair] == line
        x, y = (self.constants.get(term) for term in pair)
        return x is not None and y is not None and _on(x, y, *line)

    def _triples_with(self, other: Group, moved: set[Term]) -> set[Triple]:
        """Return the sums that hold on the records of both groups."""
        triples = self.triples & other.triples
        tried = (self.triples | other.triples) - triples
        born = {term for term in moved if term in self.constants or term in other.constants}
        if born:
            tried |= set(_triples(born, sorted(moved), other))
        return triples | {
            triple
            for triple in tried
            if moved.issuperset(triple) and other.sums(triple) and self.sums(triple)
        }

    def sums(self, triple: Triple) -> bool:
        """Say whether x = y + z on every record, also where some of the three are constant."""
        if triple in self.triples:
            return True
        x, y, z = triple
        u, v, w = (self.constants.get(term) for term in triple)
        if u is not None and v is not None and w is not None:
            return _sums(u, v, w)
        if u is not None and v is None and w is None:
            return _same(self.line(y, z), (-1.0, u))
        if v is not None and u is None and w is None:
            return _same(self.line(x, z), (1.0, v))
        if w is not None and u is None and v is None:
            return _same(self.line(x, y), (1.0, w))
        return False

    def line(self, x: Term, y: Term) -> tuple[float, float] | None:
        """Return (a, b) of x = a*y + b, for a slope of 1 or -1 in either order."""
        found = self.lines.get((x, y))
        if found is None and (y, x) in self.lines:
            a, b = self.lines[y, x]
            return (a, -a * b) if abs(a) == 1 else None
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        terms = sorted(self._terms())
        index = {term: number for number, term in enumerate(terms)}
        return {
            "n": self.n,
            "terms": [[t.to_json(), _listed(self._seen(t))] for t in terms],
            "lines": sorted([index[x], index[y], a, b] for (x, y), (a, b) in self.lines.items()),
            "triples": sorted([index[t] for t in triple] for triple in self.triples),
        }

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Group:
        """Return the group of a saved state."""
        group = cls()
        group.n = state["n"]
        terms = [read_term(row) for row, _ in state["terms"]]
        for term, (_, seen) in zip(terms, state["terms"], strict=True):
            if seen is not None and len(seen) == 1:
                group.constants[term] = seen[0]
            else:
                group.values[term] = None if seen is None else frozenset(seen)
        group.lines = {(terms[x], terms[y]): (a, b) for x, y, a, b in state["lines"]}
        group.triples = {(terms[x], terms[y], terms[z]) for x, y, z in state["triples"]}
        return group


class Plan:
    """How a group reads a record: every term once, then constants, lines and triples by place.

    What holds on all records is tested there, so the plan of a part leaves it out.

    Attributes:
        base: the plan of all records, or None if this is that.
        open: place -> (values, term) of the terms whose distinct values are still counted.
    """

    def __init__(self, group: Group, base: Plan | None) -> None:
        self.base = base
        self.places: dict[Term, int] = dict(base.places) if base else {}
        terms = (*group.constants, *group.values)
        own = (*sorted((term for term in terms if term not in self.places), key=place),)
        self._read = reader_of_all(own)
        self.places.update({term: len(self.places) + k for k, term in enumerate(own)})
        at, known = self.places, base.held if base else frozenset()
        self.held: frozenset[object] = frozenset((*group.lines, *group.triples))
        self.open = {at[t]: (seen, t) for t, seen in group.values.items() if seen is not None}
        self.constants = [(at[t], c) for t, c in group.constants.items()]
        self.lines = [
            (at[pair[0]], at[pair[1]], a, b)
            for pair, (a, b) in group.lines.items()
            if pair not in known
        ]
        self.triples = [(at[x], at[y], at[z]) for x, y, z in group.triples - known]

    def agreed(self, result: Json, base: Sequence[float] = ()) -> list[float] | None:
        """Return the number of every place if a record agrees with everything, else None.

        Args:
            result: the record.
            base: what the plan of all records returned for it.
        """
        own = self._read(result)
        if own is None:
            return None
        numbers = [*base, *own]
        for at, constant in self.constants:
            if numbers[at] != constant:
                return None
        for x, y, a, b in self.lines:
            if abs(numbers[x] - a * numbers[y] - b) > _EXACT and not _on(
                numbers[x], numbers[y], a, b
            ):
                return None
        for x, y, z in self.triples:
            if not _sums(numbers[x], numbers[y], numbers[z]):
                return None
        return numbers


def _on(x: float, y: float, a: float, b: float) -> bool:
    return abs(x - a * y - b) <= _mining_tolerance(x, a * y, b)


def _sums(x: float, y: float, z: float) -> bool:
    return abs(x - y - z) <= _mining_tolerance(x, y, z)


def _same(line: tuple[float, float] | None, wanted: tuple[float, float]) -> bool:
    if line is None or line[0] != wanted[0]:
        return False
    return abs(line[1] - wanted[1]) <= _mining_tolerance(line[1], wanted[1])


Step = tuple[Term, float, float]
"""A term and its values in two records."""


def _through(one: Step, two: Step) -> tuple[Line, tuple[float, float]] | None:
    """Return the line through two points, if its numbers have few digits.

    A relation that someone meant has coefficients of few digits, so every two of its points give
    the same ones. The same relation always has the same term alone: that for which the slope has
    few digits; if both do, that with the steeper change, and the first where they change alike.
    """
    slope, other = _slope(one, two), _slope(two, one)
    if slope is None or (other is not None and abs(slope) < 1):
        one, two, slope = two, one, other
    if slope is None:
        return None
    (x, s, u), (y, t, v) = one, two
    constant = _plain(s - slope * t, _noise(s, slope * t))
    if constant is None or not (_on(s, t, slope, constant) and _on(u, v, slope, constant)):
        return None
    return (x, y), (slope, constant)


def _slope(one: Step, two: Step) -> float | None:
    """Return the change of one term for that of the other, if it is a number of few digits."""
    (_, s, u), (_, t, v) = one, two
    change = v - t
    slope = (u - s) / change
    return _plain(slope, (_noise(s, u) + abs(slope) * _noise(t, v)) / abs(change))


def _noise(*numbers: float) -> float:
    """Return what rounding of floats can do to a difference of sums of such numbers."""
    return 1e-15 * sum(map(abs, numbers))


def _plain(number: float, noise: float) -> float | None:
    """Return the number of nine digits that a number is but for noise, or None if it is none."""
    plain = float(f"{number:.{_DIGITS}g}")
    if abs(number) <= noise:
        return 0.0
    return plain if abs(number - plain) <= max(1e-13 * abs(plain), noise) else None


def _triples(born: set[Term], moved: list[Term], other: Group) -> Iterator[Triple]:
    """Yield the triples with a term that has just changed, within one object, of one unit.

    Those are left out that one record, if ``other`` is one, shows to be wrong.
    """
    scopes: dict[str, list[Term]] = {}
    for term in moved:
        scopes.setdefault(term.scope, []).append(term)
    for terms in scopes.values():
        sums = _Sums(terms, other)
        for y, z in combinations(terms, 2):
            for x in sums.of(y, z):
                if x not in (y, z) and not born.isdisjoint((x, y, z)) and _one_unit(x, y, z):
                    yield x, y, z


class _Sums:
    """Finds the terms that can be the sum of two others, by their numbers in a group of one."""

    def __init__(self, terms: list[Term], group: Group) -> None:
        self._terms = terms
        self._numbers = {t: group.constants[t] for t in terms} if group.n == 1 else {}
        self._sorted = sorted((number, term) for term, number in self._numbers.items())

    def of(self, y: Term, z: Term) -> Iterable[Term]:
        """Return the terms that may be y + z."""
        if not self._numbers:
            return self._terms
        v, w = self._numbers[y], self._numbers[z]
        reach = _mining_tolerance(v, w, v + w)
        start = bisect_left(self._sorted, v + w - reach, key=_first)
        stop = bisect_right(self._sorted, v + w + reach, key=_first)
        return [term for _, term in self._sorted[start:stop]]


def _first(pair: tuple[float, Term]) -> float:
    return pair[0]


def _one_unit(*terms: Term) -> bool:
    counts = sum(term.counts for term in terms)
    return counts in (0, len(terms)) or all(t.counts or t.fold == "value" for t in terms)


def _union(one: frozenset[float] | None, two: frozenset[float] | None) -> frozenset[float] | None:
    if one is None or two is None:
        return None
    both = one | two
    return both if len(both) <= MOST_VALUES else None


def _listed(values: frozenset[float] | None) -> list[float] | None:
    return None if values is None else sorted(values)
