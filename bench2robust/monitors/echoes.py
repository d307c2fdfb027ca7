"""Results that repeat an argument of their call: which pairs agreed on every record.

A pair is (argument, place in the result). It dies at its first mismatch, so that after a few
records only true echoes cost anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.nodes import SCALARS, Node
from bench2robust.monitors.pointers import EACH, EVERY, escape, occurrences, split, unescape
from bench2robust.monitors.shape import Tree

__all__ = ["LEVELS", "Echoes", "Pair", "agreement", "is_scalar"]

LEVELS = {"exact": 1, "numeric": 2, "casefold": 4}
"""How an echo agrees, strongest first: the bit of each level in a mask."""
MOST_ARGUMENTS = 64
MOST_VALUES = 8
_LONGEST_NUMBER = 64


def is_scalar(value: Json) -> bool:
    """Say whether a value can be an echo: a text or a number."""
    return type(value) in SCALARS


def _scalar_arguments(arguments: Mapping[str, Json], at: str = "") -> list[tuple[str, Json]]:
    """Return (pointer, value) of every text and number in a call's arguments, outside lists."""
    found: list[tuple[str, Json]] = []
    if len(arguments) <= MOST_ARGUMENTS:
        for key, value in arguments.items():
            if type(value) in SCALARS:
                found.append((f"{at}/{escape(key)}", value))
            elif isinstance(value, dict):
                found += _scalar_arguments(value, f"{at}/{escape(key)}")
    return found


def agreement(argument: Json, value: Json) -> int:
    """Return the levels at which a scalar in a result repeats an argument, as a mask."""
    if type(argument) is type(value) and argument == value:
        return 7
    number = _number(argument)
    if number is not None and number == _number(value):
        return 6
    if type(argument) is str and type(value) is str:
        return 4 if argument.strip().casefold() == value.strip().casefold() else 0
    return 0


def _number(value: Json) -> Decimal | None:
    if type(value) is str and len(value) > _LONGEST_NUMBER:
        return None
    if type(value) is int and value.bit_length() > 256:
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


class Pair:
    """An argument and a place that agreed on every record with both.

    Attributes:
        path: the place.
        levels: the levels that still hold, as a mask; 0 once the pair is dead.
        n: records with both.
        values: distinct argument -> records; None once there were more than ``MOST_VALUES``.
    """

    __slots__ = ("_keys", "levels", "n", "path", "steps", "values")

    def __init__(self, path: str) -> None:
        self.path = path
        self.steps = split(path)
        self._keys = None if EACH in self.steps else [unescape(step) for step in self.steps]
        self.levels = 7
        self.n = 0
        self.values: dict[str, int] | None = {}

    def see(self, argument: Json, result: Json) -> None:
        """Count a record; one without a scalar at the place says nothing."""
        levels, met = self.levels, False
        for value in self._held(result):
            if type(value) in SCALARS:
                met = True
                levels &= agreement(argument, value)
                if not levels:
                    break
        if met and self.values is None and levels:
            self.levels = levels
            self.n += 1
        elif met:
            self._add(levels, 1, {repr(argument)[:80]: 1})

    def _held(self, result: Json) -> Iterable[Json]:
        """Return the values at the place; the plain way is for places outside lists only."""
        if self._keys is None:
            return (value for _, value in occurrences(result, self.steps))
        for key in self._keys:
            if type(result) is not dict or key not in result:
                return ()
            result = result[key]
        return (result,)

    def merge(self, other: Pair) -> None:
        """Add another shard's records."""
        self._add(self.levels & other.levels, other.n, other.values)

    def _add(self, levels: int, n: int, values: Mapping[str, int] | None) -> None:
        if not levels:  # all dead pairs are equal
            self.levels, self.n, self.values = 0, 0, None
            return
        self.levels = levels
        self.n += n
        if self.values is None or values is None:
            self.values = None
            return
        for key, records in values.items():
            self.values[key] = self.values.get(key, 0) + records
        if len(self.values) > MOST_VALUES:
            self.values = None

    @property
    def collision(self) -> float:
        """The chance that two records have the same argument; a half where it is unknown."""
        if self.values is None:
            return 0.5
        return sum((c / self.n) ** 2 for c in self.values.values())


class Echoes:
    """All pairs of one tool.

    Attributes:
        pairs: argument -> place -> the pair. One that was never seen with both is not there.
        wide: there were more than ``MOST_ARGUMENTS`` arguments; none is followed.
    """

    def __init__(self) -> None:
        self.pairs: dict[str, dict[str, Pair]] = {}
        self.wide = False
        self._fresh: list[Node] | None = None
        self._taken = 0
        self._nodes: dict[str, Node] = {}
        self._alive: dict[str, list[tuple[Node, Pair]]] = {}
        self._unmet: dict[str, list[Node]] = {}

    def add(self, arguments: Mapping[str, Json], result: Json, record: int, tree: Tree) -> None:
        """Compare one record; ``tree`` has just counted it."""
        if self.wide:
            return
        if self._fresh is not tree.fresh:
            self.follow(tree)
        if self._taken < len(tree.fresh):
            self._take()
        for argument, value in _scalar_arguments(arguments):
            if argument not in self.pairs and not self._admit(argument):
                return
            died = False
            for node, pair in self._alive[argument]:
                if node.was_in(record):
                    pair.see(value, result)
                    died = died or not pair.levels
            if died:
                self._alive[argument] = [item for item in self._alive[argument] if item[1].levels]
            if self._unmet[argument]:
                self._meet(argument, value, result, record)

    def _meet(self, argument: str, value: Json, result: Json, record: int) -> None:
        still = []
        for node in self._unmet[argument]:
            if not node.was_in(record):
                still.append(node)
                continue
            pair = Pair(node.path)
            pair.see(value, result)
            if pair.levels and not pair.n:
                still.append(node)
                continue
            self.pairs[argument][node.path] = pair
            if pair.levels:
                self._alive[argument].append((node, pair))
        self._unmet[argument] = still

    def _admit(self, argument: str) -> bool:
        if len(self.pairs) >= MOST_ARGUMENTS:
            self.wide, self.pairs = True, {}
            return False
        self.pairs[argument] = {}
        self._alive[argument], self._unmet[argument] = [], list(self._nodes.values())
        return True

    def follow(self, tree: Tree) -> None:
        """Follow the scalar places that a tree has now, and forget the pairs of others."""
        self._fresh, self._taken, self._nodes = tree.fresh, 0, {}
        paths = {node.path for node in tree.fresh}
        for argument, pairs in self.pairs.items():
            for path in pairs.keys() - paths:
                del pairs[path]
            self._alive[argument], self._unmet[argument] = [], []
        self._take()

    def _take(self) -> None:
        """Follow the places that are new."""
        assert self._fresh is not None
        for node in self._fresh[self._taken :]:
            if node.path not in self._nodes and EVERY not in node.path:
                self._nodes[node.path] = node
                for argument, pairs in self.pairs.items():
                    pair = pairs.get(node.path)
                    if pair is None:
                        self._unmet[argument].append(node)
                    elif pair.levels:
                        self._alive[argument].append((node, pair))
        self._taken = len(self._fresh)

    def merge(self, other: Echoes) -> None:
        """Add another shard's pairs."""
        if self.wide or other.wide or len(self.pairs.keys() | other.pairs.keys()) > MOST_ARGUMENTS:
            self.wide, self.pairs = True, {}
        for argument, pairs in () if self.wide else other.pairs.items():
            mine = self.pairs.setdefault(argument, {})
            for path, pair in pairs.items():
                mine.setdefault(path, Pair(path)).merge(pair)
        self._fresh = None

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        pairs = {
            argument: {path: [pair.levels, pair.n, pair.values] for path, pair in found.items()}
            for argument, found in self.pairs.items()
        }
        return {"wide": self.wide, "pairs": pairs}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Echoes:
        """Return the pairs of a saved state."""
        echoes = cls()
        echoes.wide = state["wide"]
        for argument, found in state["pairs"].items():
            pairs = echoes.pairs[argument] = {}
            for path, row in found.items():
                pair = pairs[path] = Pair(path)
                pair.levels, pair.n, pair.values = row
        return echoes
