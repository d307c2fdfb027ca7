"""``negative_value``: a number below zero where only zero and more was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate

__all__ = ["Negative"]


class Negative(Extension):
    """Numbers of which the least was 0 do not fall below it (stock, balances, counts)."""

    code = "negative_value"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield every number."""
        for path, value in values_of(result):
            if type(value) in (int, float):
                yield path, value

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return whether one was negative, and whether one was positive."""
        return [any(v < 0 for v in observed), any(v > 0 for v in observed), 0 in observed]

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return what either has seen."""
        return [a or b for a, b in zip(one, two, strict=True)]

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return no parameters if zero and positive numbers were seen, and no negative one."""
        return {} if summary == [False, True, True] else None

    def rule(self, invariant: Invariant) -> Rule:
        """Return what refuses negative numbers."""

        def broken(value: Json) -> tuple[Json, str] | None:
            if type(value) in (int, float) and value < 0:
                return ">= 0", "is negative"
            return None

        return at_places(invariant, broken)
