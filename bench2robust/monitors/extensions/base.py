"""What an extension class is, and the mergeable state that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.findings import Finding, Rule
from bench2robust.monitors.gates import Gate, admitted
from bench2robust.monitors.lexicon import is_data_key
from bench2robust.monitors.pointers import EACH, EVERY, escape, occurrences, pointer, split
from bench2robust.monitors.profiles import EXTENSION
from bench2robust.monitors.shape import DEEPEST, MOST_KEYS
from bench2robust.monitors.violation import Violation

__all__ = ["PAIR", "Extension", "Findings", "Summary", "at_places", "values_of"]

Summary = Any
"""What one class keeps of one place: a JSON value of bounded size."""
PAIR = "~|"
"""Between the paths of a place that is a pair; no path holds it, since ``~`` is escaped."""
MOST_PLACES = 5_000


class Extension(ABC):
    """A class of invariants: what it looks at, what it keeps of it, and what it asks for.

    Attributes:
        code: the code of its violations.
    """

    code: ClassVar[str]

    @abstractmethod
    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield (place, observation) for everything in a result that the class is about."""

    @abstractmethod
    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return what is kept of the observations at one place of one record."""

    @abstractmethod
    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return what is kept of other records together; the order must not matter."""

    @abstractmethod
    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the parameters of an invariant, or None if the evidence says none."""

    @abstractmethod
    def rule(self, invariant: Invariant) -> Rule:
        """Return what checks an invariant of the class.

        Raises:
            KeyError, TypeError, ValueError: its parameters are wrong.
        """


class Findings:
    """What one extension class has seen of one tool.

    Attributes:
        places: place -> (records with it, summary); None once there were too many places.
    """

    def __init__(self, kind: Extension) -> None:
        self.kind = kind
        self.places: dict[str, tuple[int, Summary]] | None = {}

    def add(self, result: Json, bit: int) -> None:
        """Add one record; ``bit`` is the bucket of its task."""
        if self.places is None:
            return
        seen: dict[str, list[Json]] = {}
        for place, value in self.kind.observations(result):
            seen.setdefault(place, []).append(value)
        for place, values in seen.items():
            self._put(place, 1, self.kind.summary(values, bit))

    def _put(self, place: str, records: int, summary: Summary) -> None:
        if self.places is None:
            return
        if place in self.places:
            n, known = self.places[place]
            self.places[place] = (n + records, self.kind.combine(known, summary))
        elif len(self.places) >= MOST_PLACES:
            self.places = None
        else:
            self.places[place] = (records, summary)

    def merge(self, other: Findings) -> None:
        """Add other records of the same tool."""
        if other.places is None:
            self.places = None
            return
        for place, (records, summary) in other.places.items():
            self._put(place, records, summary)

    def invariants(self, gate: Gate) -> Iterator[Invariant]:
        """Yield what is admitted."""
        for place, (n, summary) in sorted((self.places or {}).items()):
            if gate.enough(EXTENSION, n):
                params = self.kind.params(place, summary, n, gate)
                if params is not None:
                    yield admitted(self.kind.code, place.partition(PAIR)[0], n, params)

    def to_json(self) -> Json:
        """Return the state as a JSON value."""
        return None if self.places is None else {p: list(row) for p, row in self.places.items()}

    @classmethod
    def from_json(cls, kind: Extension, state: Json) -> Findings:
        """Return the findings of a saved state."""
        found = cls(kind)
        found.places = None if state is None else {p: (n, s) for p, (n, s) in state.items()}
        return found


def values_of(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Yield (contract path, value) for everything in a result, objects and lists included."""
    yield path, value
    if depth >= DEEPEST:
        return
    if type(value) is dict and len(value) <= MOST_KEYS:
        for key, item in value.items():
            step = EVERY if is_data_key(key) else escape(key)
            yield from values_of(item, f"{path}/{step}", depth + 1)
    elif type(value) is list:
        for item in value:
            yield from values_of(item, f"{path}/{EACH}", depth + 1)


def at_places(invariant: Invariant, broken: Callable[[Json], tuple[Json, str] | None]) -> Rule:
    """Return the rule that asks something of every value at an invariant's path.

    Args:
        invariant: whose path it is.
        broken: returns (what was expected, the end of a sentence that begins with the field), or
            None for a value that is fine.
    """
    steps = split(invariant.path)

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, steps):
            told = broken(held)
            if told is not None:
                name = next((s for s in reversed(place) if isinstance(s, str)), "result")
                detail = f"field {name} {told[1]}"
                violation = Violation(invariant.code, pointer(place), told[0], held, detail)
                yield Finding(place, violation)

    return rule
