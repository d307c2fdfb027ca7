"""``learned_range``: numbers far outside of what was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate
from bench2robust.monitors.lexicon import is_identifier

__all__ = ["Range"]

_LARGEST = 1e15


class Range(Extension):
    """Numbers lie within what was seen, widened by its whole width on both sides.

    A new record lies beyond the extremes of n others with probability 2/(n + 1), so the bare
    extremes would often be broken; one width further it is an error of scale or unit.
    """

    code = "learned_range"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield every number that is no identifier."""
        for path, value in values_of(result):
            number = type(value) in (int, float) and abs(value) <= _LARGEST
            if number and not is_identifier(path.rpartition("/")[2]):
                yield path, value

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return the extremes."""
        return [min(observed) + 0.0, max(observed) + 0.0]  # no -0.0

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return the extremes of both."""
        return [min(one[0], two[0]), max(one[1], two[1])]

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the widened extremes; a constant has no width."""
        low, high = summary
        if low == high:
            return None
        width = high - low
        return {"low": low - width, "high": high + width}

    def rule(self, invariant: Invariant) -> Rule:
        """Return what compares a number with the bounds."""
        low, high = float(invariant.params["low"]), float(invariant.params["high"])
        expected = [low, high]

        def broken(value: Json) -> tuple[Json, str] | None:
            if type(value) in (int, float) and (value < low or value > high):
                return expected, "lies far outside of the range that was seen"
            return None

        return at_places(invariant, broken)
