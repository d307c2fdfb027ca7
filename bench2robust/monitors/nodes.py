"""Places in results, and what was seen of each type at a place."""

from __future__ import annotations

import math
from typing import Any

from bench2robust.monitors.lexicon import is_category
from bench2robust.monitors.pointers import EACH

__all__ = [
    "BUCKETS",
    "DEEPEST",
    "KINDS",
    "MOST_KEYS",
    "MOST_VALUES",
    "NAMES",
    "NUMBERS",
    "SCALARS",
    "Facet",
    "Node",
]

BUCKETS = 60
"""Tasks fall into this many buckets by their hash; divisible by 2, 3, 4, 5, 6, 10 and 12."""
MOST_VALUES = 32
MOST_KEYS = 256
DEEPEST = 32

KINDS: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
"""Type of a parsed JSON value -> its JSON Schema name."""
NUMBERS = frozenset((int, float))
SCALARS = frozenset((str, int, float))
"""The types that an argument and a result can share."""
NAMES = {name: kind for kind, name in KINDS.items()}


class Facet:
    """What was seen of one type at one place.

    Attributes:
        records: records in which the type occurred.
        repeats: how often it occurred again in a record that had it (under a list).
        mask: the buckets of tasks in which it occurred, one bit each.
        low: the smallest number.
        finite: False once a NaN or infinity was seen.
        values: scalar -> [records, mask, last record]; None once there were too many.
        plain: its values tell nothing any more; no part of the state.
        children: key -> place; None once there were too many keys.
        pooled: the place of the values whose keys are data.
        element: the place of list elements.
        number: whether the type is a number.
        last: the record that was counted last; no part of the state.
    """

    __slots__ = (
        "children",
        "element",
        "finite",
        "last",
        "low",
        "mask",
        "number",
        "plain",
        "pooled",
        "records",
        "repeats",
        "values",
    )

    def __init__(self, kind: type, counted: bool) -> None:
        self.number = kind is int or kind is float
        self.plain = not counted and not self.number
        self.records = 0
        self.repeats = 0
        self.mask = 0
        self.last = -1
        self.low: float = math.inf
        self.finite = True
        self.values: dict[Any, list[int]] | None = {} if counted else None
        self.children: dict[str, Node] | None = {}
        self.pooled: Node | None = None
        self.element: Node | None = None

    @property
    def instances(self) -> int:
        """How often it occurred."""
        return self.records + self.repeats

    def drop_values(self) -> None:
        """Give up counting values: there are too many."""
        self.values = None
        self.plain = not self.number


class Node:
    """A place in the results of a tool.

    Attributes:
        path: its contract path.
        name: its key, ``""`` for list elements and the root.
        depth: steps from the root.
        facets: type -> what was seen of it.
        kind: the type that was seen first, usually the only one; no part of the state.
        first: its facet.
    """

    __slots__ = ("depth", "facets", "first", "kind", "name", "path")

    def __init__(self, path: str, name: str, depth: int) -> None:
        self.path = path
        self.name = name
        self.depth = depth
        self.facets: dict[type, Facet] = {}
        self.kind: type | None = None
        self.first: Facet | None = None

    def facet(self, kind: type) -> Facet:
        """Return the facet of a type, made if it is new."""
        found = self.facets.get(kind)
        if found is None:
            counted = kind is str or (kind in (int, bool) and is_category(self.name))
            found = self.facets[kind] = Facet(kind, counted)
            if self.first is None:
                self.kind, self.first = kind, found
            if kind is list and self.depth < DEEPEST:
                found.element = Node(f"{self.path}/{EACH}", "", self.depth + 1)
            elif kind is dict and self.depth >= DEEPEST:
                found.children = None
        return found

    def was_in(self, record: int) -> bool:
        """Say whether the record that was counted last has the place."""
        return record in [facet.last for facet in self.facets.values()]

    @property
    def records(self) -> int:
        """Records with the place: exact outside lists, a lower bound inside."""
        counts = [facet.records for facet in self.facets.values()]
        return max(counts, default=0) if EACH in self.path else sum(counts)

    @property
    def instances(self) -> int:
        """How often the place occurred."""
        return sum(facet.instances for facet in self.facets.values())
