"""``learned_cardinality``: lists that are empty, or of another length, where they never were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate

__all__ = ["Cardinality"]


class Cardinality(Extension):
    """Lists that never were empty stay so, and those that always had one length keep it.

    An upper bound is not learned: how many things there are tends to grow.
    """

    code = "learned_cardinality"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield the length of every list."""
        for path, value in values_of(result):
            if type(value) is list:
                yield path, len(value)

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return the extremes."""
        return [min(observed), max(observed)]

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return the extremes of both."""
        return [min(one[0], two[0]), max(one[1], two[1])]

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the least length, and the greatest if all were equal and more than one."""
        low, high = summary
        if low < 1:
            return None
        return {"low": low, "high": high} if low == high > 1 else {"low": 1, "high": None}

    def rule(self, invariant: Invariant) -> Rule:
        """Return what counts the elements of a list."""
        low, high = int(invariant.params["low"]), invariant.params.get("high")
        if high is not None and type(high) is not int:
            raise ValueError("high must be a count or null")

        expected = f"{low} elements" if high == low else f"{low} or more elements"

        def broken(value: Json) -> tuple[Json, str] | None:
            if type(value) is not list or low <= len(value) <= (high or len(value)):
                return None
            return expected, f"has {len(value)} elements"

        return at_places(invariant, broken)
