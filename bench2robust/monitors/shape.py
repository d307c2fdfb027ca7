"""What results look like: types, keys, values and signs per path, counted by record.

A ``Node`` is a place in the results of one tool (list elements share one). For each type seen
there it has a ``Facet``. All of it merges: counts add, minima and bit masks combine, and what
grows past its cap is dropped for good, so the order of records never matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.errors_told import can_tell
from bench2robust.monitors.lexicon import is_category, is_data_key
from bench2robust.monitors.nodes import (
    KINDS,
    MOST_KEYS,
    MOST_VALUES,
    NAMES,
    SCALARS,
    Facet,
    Node,
)
from bench2robust.monitors.pointers import EACH, EVERY, escape

__all__ = ["Tree", "places"]

LONGEST_VALUE = 64
MOST_NODES = 20_000
_TOLD = 2
"""So many steps from the top errors are told of."""
_HUGE = 1e300
"""What numbers beyond count as: whole ones may have no float."""


class Tree:
    """The places of a tool's results.

    Attributes:
        root: the whole result.
        size: how many places there are.
        full: there were more than ``MOST_NODES``; nothing is kept, and nothing is ever mined.
        fresh: the places in the order in which they first held a text or a number, no part of
            the state; a new list after places were dropped or merged.
        alarming: the places, among those where errors are told of, with a type that can tell;
            the root where they are not all known. No part of the state.
        countable: rises whenever there may be more numbers, lists or categories; no part either.
    """

    __slots__ = ("alarming", "countable", "fresh", "full", "root", "size")

    def __init__(self) -> None:
        self.root = Node("", "", 0)
        self.size = 1
        self.full = False
        self.fresh: list[Node] = []
        self.alarming: list[Node] = []
        self.countable = 0

    def add(self, value: Json, record: int, bit: int) -> None:
        """Count one result; ``bit`` is the bucket of its task."""
        if not self.full:
            self._visit(self.root, value, record, bit)
            if self.size > MOST_NODES:
                self._drop_all()

    def _visit(self, node: Node, value: Json, record: int, bit: int) -> None:
        # One function of many lines: calls would be a third of the time of mining.
        kind = type(value)
        facet = node.first if kind is node.kind else None
        if facet is None:
            facet = node.facets.get(kind) or self._open(node, kind)
        if facet.last != record:
            facet.last = record
            facet.records += 1
            facet.mask |= bit
        else:
            facet.repeats += 1
        if kind is dict:
            children = facet.children
            if children is None:
                return
            for key, item in value.items():
                child = children.get(key) or self._child(node, facet, key)
                if child is None:
                    return
                kind = type(item)
                if kind is dict or kind is list:
                    self._visit(child, item, record, bit)
                    continue
                found = child.first if kind is child.kind else None
                if found is None:
                    found = child.facets.get(kind) or self._open(child, kind)
                if found.last != record:
                    found.last = record
                    found.records += 1
                    found.mask |= bit
                else:
                    found.repeats += 1
                if found.plain:
                    continue
                if kind is str:
                    entry = found.values.get(item)  # type: ignore[union-attr]
                    if entry is not None:
                        if entry[2] != record:
                            entry[0] += 1
                            entry[1] |= bit
                            entry[2] = record
                        continue
                _count(found, kind, item, record, bit)
        elif kind is list:
            element = facet.element
            if element is not None:
                visit = self._visit
                for item in value:
                    visit(element, item, record, bit)
        elif not facet.plain:
            _count(facet, kind, value, record, bit)

    def _open(self, node: Node, kind: type) -> Facet:
        """Return the facet of a type that is new at a place."""
        if kind in SCALARS:
            self.fresh.append(node)
        if _is_alarming(node, kind):
            self.alarming.append(node)
        if kind is not str or is_category(node.name):
            self.countable += 1
        return node.facet(kind)

    def _child(self, node: Node, facet: Facet, key: str) -> Node | None:
        """Return the place of a new key, or None where there are too many."""
        assert facet.children is not None
        if is_data_key(key):
            if facet.pooled is None:
                facet.pooled = Node(f"{node.path}/{EVERY}", "", node.depth + 1)
                self.size += 1
            return facet.pooled
        if len(facet.children) >= MOST_KEYS:
            facet.children, facet.pooled = None, None
            self._look_again()
            return None
        child = Node(f"{node.path}/{escape(key)}", key, node.depth + 1)
        facet.children[key] = child
        self.size += 1
        return child

    def _look_again(self) -> None:
        self.countable += 1
        kept = list(places(self.root))
        self.size = len(kept)
        self.fresh = [node for node in kept if not SCALARS.isdisjoint(node.facets)]
        self.alarming = [n for n in kept if any(_is_alarming(n, kind) for kind in n.facets)]
        if any(node.depth < _TOLD and _is_open(node) for node in kept):
            self.alarming.append(self.root)

    def _drop_all(self) -> None:
        self.full, self.root, self.size, self.fresh = True, Node("", "", 0), 1, []
        self.alarming = [self.root]
        self.countable += 1

    def merge(self, other: Tree) -> None:
        """Add what another tree has counted of other records."""
        self.full = self.full or other.full
        if not self.full:
            _merge_nodes(self.root, other.root)
            self._look_again()
        if self.full or self.size > MOST_NODES:
            self._drop_all()

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        return {"full": self.full, "root": _node_json(self.root)}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Tree:
        """Return the tree of a saved state."""
        tree = cls()
        tree.full = state["full"]
        _read_node(tree.root, state["root"])
        tree._look_again()
        return tree


def _is_alarming(node: Node, kind: type) -> bool:
    return 0 < node.depth <= _TOLD and EACH not in node.path and can_tell(node.name, kind)


def _is_open(node: Node) -> bool:
    facet = node.facets.get(dict)
    return facet is not None and facet.children is None


def _count(facet: Facet, kind: type, value: Any, record: int, bit: int) -> None:
    """Count what a scalar says beyond its type."""
    if kind is float or kind is int:
        if value < facet.low:
            facet.low = float(min(max(value, -_HUGE), _HUGE)) + 0.0  # no -0.0
        if kind is float:
            if value - value != 0.0:
                facet.finite = False
            return
    values = facet.values
    if values is None:
        return
    entry = values.get(value)
    if entry is not None:
        if entry[2] != record:
            entry[0] += 1
            entry[1] |= bit
            entry[2] = record
    elif len(values) >= MOST_VALUES or not _is_short(value):
        facet.drop_values()
    else:
        values[value] = [1, bit, record]


def _is_short(value: Any) -> bool:
    return len(value) <= LONGEST_VALUE if type(value) is str else abs(value) < 1_000_000


def places(node: Node) -> Iterator[Node]:
    """Yield a place and all below it."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        for facet in node.facets.values():
            if facet.children:
                stack += facet.children.values()
            if facet.pooled is not None:
                stack.append(facet.pooled)
            if facet.element is not None:
                stack.append(facet.element)


def _merge_nodes(mine: Node, theirs: Node) -> None:
    for kind, facet in theirs.facets.items():
        _merge_facets(mine, mine.facet(kind), facet)


def _merge_facets(node: Node, mine: Facet, theirs: Facet) -> None:
    mine.records += theirs.records
    mine.repeats += theirs.repeats
    mine.mask |= theirs.mask
    mine.low = min(mine.low, theirs.low)
    mine.finite = mine.finite and theirs.finite
    if _merge_values(mine.values, theirs.values):
        mine.drop_values()
    if theirs.element is not None and mine.element is not None:
        _merge_nodes(mine.element, theirs.element)
    _merge_children(node, mine, theirs)


def _merge_children(node: Node, mine: Facet, theirs: Facet) -> None:
    ours, others = mine.children, theirs.children
    if ours is None or others is None or len(ours.keys() | others.keys()) > MOST_KEYS:
        mine.children, mine.pooled = None, None
        return
    for key, child in others.items():
        if key not in ours:
            ours[key] = Node(child.path, key, child.depth)
        _merge_nodes(ours[key], child)
    if theirs.pooled is not None:
        if mine.pooled is None:
            mine.pooled = Node(theirs.pooled.path, "", node.depth + 1)
        _merge_nodes(mine.pooled, theirs.pooled)


def _merge_values(mine: dict[Any, list[int]] | None, theirs: dict[Any, list[int]] | None) -> bool:
    """Add counts of values; return whether there are too many of them."""
    if mine is None or theirs is None or len(mine.keys() | theirs.keys()) > MOST_VALUES:
        return True
    for value, (records, mask, _) in theirs.items():
        entry = mine.setdefault(value, [0, 0, -1])
        entry[0] += records
        entry[1] |= mask
    return False


def _node_json(node: Node) -> dict[str, Any]:
    return {KINDS[kind]: _facet_json(facet) for kind, facet in node.facets.items()}


def _facet_json(facet: Facet) -> dict[str, Any]:
    state: dict[str, Any] = {
        "records": facet.records,
        "instances": facet.instances,
        "mask": facet.mask,
        "low": facet.low if math.isfinite(facet.low) else repr(facet.low),
        "finite": facet.finite,
        "values": facet.values and [[v, e[0], e[1]] for v, e in facet.values.items()],
        "children": facet.children
        and {key: _node_json(child) for key, child in facet.children.items()},
    }
    for name, child in (("pooled", facet.pooled), ("element", facet.element)):
        if child is not None:
            state[name] = _node_json(child)
    return state


def _read_node(node: Node, state: dict[str, Any]) -> None:
    for name, row in state.items():
        facet = node.facet(NAMES[name])
        facet.records, facet.repeats = row["records"], row["instances"] - row["records"]
        facet.mask, facet.low, facet.finite = row["mask"], float(row["low"]), row["finite"]
        if row["values"] is None:
            facet.drop_values()
        else:
            facet.values = {v: [records, mask, -1] for v, records, mask in row["values"]}
        facet.children = None
        if row["children"] is not None:
            facet.children = {}
            for key, below in row["children"].items():
                child = facet.children[key] = Node(
                    f"{node.path}/{escape(key)}", key, node.depth + 1
                )
                _read_node(child, below)
        if "pooled" in row:
            facet.pooled = Node(f"{node.path}/{EVERY}", "", node.depth + 1)
            _read_node(facet.pooled, row["pooled"])
        if "element" in row and facet.element is not None:
            _read_node(facet.element, row["element"])
