"""``learned_format_mismatch``: texts of another make than all that were seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate

__all__ = ["Format", "make_of"]

_LONGEST = 64
_MOST = 8
_UPPER, _LOWER, _DIGITS = re.compile(r"[A-Z]+"), re.compile(r"[a-z]+"), re.compile(r"[0-9]+")


def make_of(text: str) -> str:
    """Return the make of a text: runs of capitals, small letters and digits as ``A``, ``a``, ``9``.

    ``#W2611340`` is ``#A9``, ``2024-05-16`` is ``9-9-9``.
    """
    return _DIGITS.sub("9", _LOWER.sub("a", _UPPER.sub("A", text)))


class Format(Extension):
    """Texts have one of a few makes, each of which was seen often."""

    code = "learned_format_mismatch"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield the make of every text, None for one that is too long to have one."""
        for path, value in values_of(result):
            if type(value) is str:
                yield path, make_of(value) if len(value) <= _LONGEST else None

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return make -> [records, buckets]; None where there are too many."""
        makes = set(observed)
        return None if None in makes or len(makes) > _MOST else {m: [1, bit] for m in makes}

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return the counts of both."""
        if one is None or two is None or len(one.keys() | two.keys()) > _MOST:
            return None
        known = {make: list(counts) for make, counts in one.items()}
        for make, (records, mask) in two.items():
            entry = known.setdefault(make, [0, 0])
            entry[0] += records
            entry[1] |= mask
        return known

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the makes, if each was seen in several records and parts of the tasks."""
        if not summary or 5 * len(summary) > n:
            return None
        often = all(records > 1 and gate.spread(mask) for records, mask in summary.values())
        return {"makes": sorted(summary)} if often else None

    def rule(self, invariant: Invariant) -> Rule:
        """Return what compares the make of a text."""
        makes = frozenset(map(str, invariant.params["makes"]))
        expected = sorted(makes)

        def broken(value: Json) -> tuple[Json, str] | None:
            if type(value) is not str or (len(value) <= _LONGEST and make_of(value) in makes):
                return None
            return expected, "is made differently from all that were seen"

        return at_places(invariant, broken)
