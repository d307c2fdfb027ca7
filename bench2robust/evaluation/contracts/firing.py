"""Counting what fires: per tool, per class, per invariant, in memory that does not grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from bench2robust.evaluation.contracts.traces import Observed
from bench2robust.evaluation.metrics import Rate
from bench2robust.evaluation.statistics import Interval, clopper_pearson, cluster_bootstrap
from bench2robust.monitors.affine import read_relation
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.pointers import EACH, EVERY, split, unescape
from bench2robust.monitors.violation import CODES, Violation

__all__ = [
    "Firings",
    "Found",
    "Place",
    "Share",
    "bounded",
    "check_all",
    "check_one",
    "invariant_of",
    "place_of",
    "where",
]

Place: TypeAlias = tuple[str, str, str]
"""Tool, code, and what :func:`where` says of an invariant."""
RELATION = "affine_relation_broken"


_MOST_TOOLS = 10_000
OTHERS = "(other tools)"


def bounded(counts: Counter[str], tool: str) -> str:
    """Return the name under which a tool is counted: names that hold data must not fill memory."""
    return tool if tool in counts or len(counts) < _MOST_TOOLS else OTHERS


class Share(Rate):
    """``hits`` of ``total``, with the exact 95 % interval."""

    @property
    def interval(self) -> Interval:
        """The Clopper-Pearson interval; all of 0 to 1 where nothing was counted."""
        return clopper_pearson(self.hits, self.total) if self.total else Interval(0.0, 1.0)


class Found(NamedTuple):
    """A checked sample and what is wrong with it."""

    observed: Observed
    violations: tuple[Violation, ...]


@dataclass(slots=True)
class Firings:
    """What was counted over checked samples; a sample counts once for each thing that it fires.

    Attributes:
        checked: tool to samples that a contract was there for.
        fired: tool to those with any violation.
        codes: (tool, code) to those with that code.
        places: invariant to those that broke it.
        unknown: tool to samples without a contract, which can never fire.
        faults: (fault, whether anything fired) to samples that are known to carry it.
    """

    checked: Counter[str] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    places: Counter[Place] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def add(self, contract: Contract, found: Found) -> None:
        """Count one checked sample."""
        (sample, fault), violations = found
        if fault is not None:
            self.faults[fault, bool(violations)] += 1
        if not contract.covers(sample.tool):
            self.unknown[bounded(self.unknown, sample.tool)] += 1
            return
        self.checked[sample.tool] += 1
        if violations:
            self.fired[sample.tool] += 1
            self.codes.update({(sample.tool, v.code) for v in violations})
            self.places.update({place_of(contract, sample.tool, v) for v in violations})

    def update(self, other: Firings) -> None:
        """Add what others counted."""
        for name in ("checked", "fired", "codes", "places", "unknown", "faults"):
            getattr(self, name).update(getattr(other, name))

    @property
    def micro(self) -> Share:
        """How many of all checked samples fired."""
        return Share(self.fired.total(), self.checked.total())

    def of_tool(self, tool: str) -> Share:
        """How many samples of a tool fired."""
        return Share(self.fired[tool], self.checked[tool])

    def of_code(self, code: str) -> Share:
        """How many of all checked samples fired with a code."""
        hits = sum(n for (_, fired), n in self.codes.items() if fired == code)
        return Share(hits, self.checked.total())

    @property
    def fired_codes(self) -> list[str]:
        """The codes of the eight classes, then any others that fired."""
        others = sorted({code for _, code in self.codes} - set(CODES))
        return [*CODES, *others]

    def macro(self, code: str | None = None) -> tuple[float, Interval]:
        """Return the mean over tools of the share that fired, with its bootstrap over tools."""
        hits = [self.fired[t] if code is None else self.codes[t, code] for t in self.checked]
        rates = [h / n for h, n in zip(hits, self.checked.values(), strict=True)]
        if not rates:
            return float("nan"), Interval(0.0, 1.0)
        return sum(rates) / len(rates), cluster_bootstrap(rates, resamples=20_000)

    def detection(self) -> dict[str, Share]:
        """Return, for each known fault, how many samples that carry it fired."""
        names = sorted({fault for fault, _ in self.faults})
        counts = {name: (self.faults[name, True], self.faults[name, False]) for name in names}
        return {name: Share(hit, hit + missed) for name, (hit, missed) in counts.items()}


def check_all(contract: Contract, samples: Iterable[Observed]) -> Iterator[Found]:
    """Yield every sample with what a contract finds wrong with it."""
    checker = Checker(contract)
    return (check_one(checker, observed) for observed in samples)


def check_one(checker: Checker, observed: Observed) -> Found:
    """Return a sample with what a checker finds wrong with it."""
    sample = observed.sample
    return Found(observed, checker.check_value(sample.tool, sample.arguments, sample.response))


def place_of(contract: Contract, tool: str, violation: Violation) -> Place:
    """Return the invariant that a violation breaks."""
    invariant = invariant_of(contract, tool, violation)
    return tool, violation.code, violation.path if invariant is None else where(invariant)


def where(invariant: Invariant) -> str:
    """Return what tells an invariant from others of its code: its path, or its relation."""
    if invariant.code == RELATION:
        return str(read_relation(invariant.params))
    return invariant.path


def invariant_of(contract: Contract, tool: str, violation: Violation) -> Invariant | None:
    """Return the invariant that a violation breaks, as far as code and path tell.

    If no path fits, it is the first of the code, so that whatever data fill paths with, no more is
    counted than there are invariants.
    """
    place = violation.path.split("/")[1:]
    own = [i for i in contract.tools.get(tool, ()) if i.code == violation.code]
    fitting = (i for i in own if _breaks(i, place, violation))
    return next(fitting, own[0] if own else None)


def _breaks(invariant: Invariant, place: Sequence[str], violation: Violation) -> bool:
    if invariant.code == RELATION:
        expected = violation.expected
        return isinstance(expected, dict) and expected.get("relation") == where(invariant)
    if invariant.code == "explicit_error":
        return True  # there is one for a tool
    if invariant.code == "unexpected_field":  # said of the object, broken by a key
        place = place[:-1]
    return _leads(split(invariant.path), place)


def _leads(pattern: Sequence[str], place: Sequence[str]) -> bool:
    return len(pattern) == len(place) and all(
        p == EVERY or (s.isdecimal() if p == EACH else unescape(p) == unescape(s))
        for p, s in zip(pattern, place, strict=True)
    )
