"""``length_truncated``: a sentence without an end where all sentences had one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate

__all__ = ["Truncation"]

_SHORTEST = 24
_ENDS = tuple(".!?…)]}\"'”»。！？")


class Truncation(Extension):
    """Prose that always ended like a sentence still does.

    A cut that hits a sentence's end, or prose without punctuation, stays unseen.
    """

    code = "length_truncated"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield, for every text of several words, whether it ends."""
        for path, value in values_of(result):
            if _is_prose(value):
                yield path, _ends(value)

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return whether all ended."""
        return all(observed)

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return whether all of both ended."""
        return one and two

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return no parameters if all ended."""
        return {} if summary else None

    def rule(self, invariant: Invariant) -> Rule:
        """Return what looks at the end of a text."""

        def broken(value: Json) -> tuple[Json, str] | None:
            if _is_prose(value) and not _ends(value):
                return "the end of a sentence", "ends within a sentence"
            return None

        return at_places(invariant, broken)


def _is_prose(value: Json) -> bool:
    return type(value) is str and len(value) >= _SHORTEST and value.count(" ") >= 2


def _ends(text: str) -> bool:
    return text.rstrip().endswith(_ENDS)
