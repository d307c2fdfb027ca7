"""``referential_missing``: an identifier in a result that the result itself does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import PAIR, Extension, Summary, values_of
from bench2robust.monitors.findings import Finding, Rule
from bench2robust.monitors.gates import Gate
from bench2robust.monitors.pointers import EACH, occurrences, pointer, split
from bench2robust.monitors.violation import Violation

__all__ = ["Referential"]

_LONGEST = 128
_SHORTEST = 3
_MOST_PLACES = 32
_ENOUGH = 3


class Referential(Extension):
    """The texts at one place are among those at another place of the same result.

    The items of a fulfilment are items of the order. A reference into another tool's results needs
    a store that the checker would have to keep; it keeps none.
    """

    code = "referential_missing"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield, for every pair of places with texts in lists, whether one includes the other.

        The place is that of the references and that of what they refer to. Of texts that look like
        words nothing is to be learned: a reference holds a digit.
        """
        held: dict[str, set[str]] = {}
        for path, value in values_of(result):
            if EACH in path and type(value) is str and _is_reference(value):
                held.setdefault(path, set()).add(value)
        if len(held) <= _MOST_PLACES:
            for source, values in held.items():
                for target, known in held.items():
                    if source != target:
                        yield f"{source}{PAIR}{target}", [values <= known, len(known) > 1]

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return whether it includes them, and whether it had a choice, counted by records."""
        return [observed[0][0], int(observed[0][1])]

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return both."""
        return [one[0] and two[0], one[1] + two[1]]

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the place that is referred to, if it always included the references."""
        always, varied = summary
        return {"target": place.partition(PAIR)[2]} if always and varied >= _ENOUGH else None

    def rule(self, invariant: Invariant) -> Rule:
        """Return what looks every reference up."""
        source, target = split(invariant.path), split(str(invariant.params["target"]))

        def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
            known = [value for _, value in occurrences(result, target) if type(value) is str]
            for place, held in occurrences(result, source) if known else ():
                if type(held) is str and held not in known:
                    detail = f"{held[:80]} is not among the values at {invariant.params['target']}"
                    told = Violation(self.code, pointer(place), known[:8], held, detail)
                    yield Finding(place, told)

        return rule


def _is_reference(text: str) -> bool:
    return _SHORTEST <= len(text) <= _LONGEST and any(map(str.isdigit, text))
