"""The linear relations of a tool's results: on all records, and where a guard has one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.groups import Group
from bench2robust.monitors.lexicon import is_category, is_quantity
from bench2robust.monitors.nodes import NUMBERS, Node
from bench2robust.monitors.pointers import EACH, EVERY, escape
from bench2robust.monitors.shape import Tree, places
from bench2robust.monitors.terms import MOST_KEYS, MOST_PARTS

__all__ = ["Relations"]

MOST_GUARD_VALUES = 8
MOST_GUARDS = 2
MOST_TERMS = 256
_LONGEST_GUARD = 64
_LONGEST_KEY = 128


Parts = dict[str, Group | None]
"""Value of a guard -> what holds there; None: every record has it, so what holds everywhere."""


class Relations:
    """The relations of one tool: on all records, and on those with one value of a guard.

    Attributes:
        everywhere: what holds on all records.
        guards: path of a guard -> its parts; None once it had too many values. Guards are texts
            at the top whose name is that of a category.
        crowded: results could have more than ``MOST_TERMS`` terms; nothing is followed.
    """

    def __init__(self) -> None:
        self.everywhere = Group()
        self.guards: dict[str, Parts | None] = {}
        self.crowded = False
        self._counted = -1
        self._keys: tuple[str, ...] = ()
        self._places: list[tuple[str, str]] = []

    def add(self, result: Json, tree: Tree) -> None:
        """Add one record, which ``tree`` has just counted."""
        self.look(tree)
        if self.crowded:
            return
        found = self._guards_of(result)
        self._split(found)
        base = self.everywhere.plan()
        numbers = base.agreed(result) if self.everywhere.n else None
        if numbers is not None:
            self.everywhere.count(base, numbers)
        else:
            self.everywhere.absorb(result)
        for group in self._groups(found):
            plan = group.plan(base)
            more = plan.agreed(result, numbers) if numbers is not None and group.n else None
            if more is not None:
                group.count(plan, more)
            else:
                group.absorb(result)

    def look(self, tree: Tree) -> None:
        """Give up if the places that there are now could hold too many terms."""
        if self._counted != tree.countable:
            self._counted = tree.countable
            if self.crowded or tree.full or possible_terms(tree) > MOST_TERMS:
                self.crowded, self.everywhere, self.guards = True, Group(), {}

    def _guards_of(self, result: Json) -> dict[str, str]:
        """Return path -> value of the first texts at the top, by name, that can be guards."""
        found: dict[str, str] = {}
        if type(result) is not dict or len(result) > MOST_KEYS:
            return found
        keys = tuple(result)
        if keys != self._keys:  # most records have the keys of the one before
            brief = max(map(len, keys), default=0) <= _LONGEST_KEY  # others are not kept
            read = _category_places if brief else _category_places.__wrapped__
            self._keys, self._places = keys, read(keys)
        for key, path in self._places:
            value = result[key]
            if type(value) is str and len(value) <= _LONGEST_GUARD and len(found) < MOST_GUARDS:
                found[path] = value
        return found

    def _split(self, found: dict[str, str]) -> None:
        """Give the one value of a guard a group of its own when a record comes without it."""
        for path, parts in self.guards.items():
            if parts and len(parts) == 1 and found.get(path) not in parts:
                self.guards[path] = _apart(parts, self.everywhere)
        if not self.everywhere.n:
            self.guards.update({path: {value: None} for path, value in found.items()})

    def _groups(self, found: dict[str, str]) -> Iterator[Group]:
        """Yield the groups of their own to which a record belongs."""
        for path, value in found.items():
            parts = self.guards.setdefault(path, {})
            if parts is None:
                continue
            if value not in parts:
                if len(parts) >= MOST_GUARD_VALUES:
                    self.guards[path] = None
                    continue
                parts[value] = Group()
            group = parts[value]
            if group is not None:
                yield group

    def merge(self, other: Relations) -> None:
        """Add another shard's records."""
        self.crowded = self.crowded or other.crowded
        self._counted = -1
        if self.crowded:
            self.everywhere, self.guards = Group(), {}
        elif other.everywhere.n:
            whole = [side for side in (self, other) if side.everywhere.n]
            paths = dict.fromkeys([*self.guards, *other.guards])
            self.guards = {path: _together(path, whole) for path in paths}
            self.everywhere.merge(other.everywhere)

    def parts(self, path: str) -> dict[str, Group]:
        """Return what holds for each value of a guard."""
        apart = _apart(self.guards[path] or {}, self.everywhere)
        return {value: group for value, group in apart.items() if group is not None}

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        guards = {
            path: None if parts is None else {v: g and g.to_json() for v, g in parts.items()}
            for path, parts in self.guards.items()
        }
        whole = self.everywhere.to_json()
        return {"everywhere": whole, "guards": guards, "crowded": self.crowded}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Relations:
        """Return the relations of a saved state."""
        relations = cls()
        relations.everywhere = Group.from_json(state["everywhere"])
        relations.crowded = state["crowded"]
        for path, rows in state["guards"].items():
            relations.guards[path] = None
            if rows is not None:
                parts: Parts = {
                    v: None if row is None else Group.from_json(row) for v, row in rows.items()
                }
                relations.guards[path] = parts
        return relations


def possible_terms(tree: Tree) -> int:
    """Return how many terms the places of a tree can hold at most."""
    count = 0
    for node in places(tree.root):
        if EVERY in node.path or node.path.count(EACH) > 1:
            continue
        if node.path.endswith(EACH):
            count += _terms_of_elements(node)
        elif EACH not in node.path:
            count += list in node.facets
            count += not NUMBERS.isdisjoint(node.facets)
    return count


def _terms_of_elements(node: Node) -> int:
    facet = node.facets.get(dict)
    fields = list(((facet and facet.children) or {}).values())
    numbers = [child for child in fields if not NUMBERS.isdisjoint(child.facets)]
    lists = sum(list in child.facets for child in fields)
    quantities = sum(is_quantity(child.name) for child in numbers)
    kinds = sum(str in child.facets and is_category(child.name) for child in fields)
    return lists + len(numbers) * (1 + quantities + MOST_PARTS * kinds)


def _apart(parts: Mapping[str, Group | None], everywhere: Group) -> Parts:
    """Return parts each of which is a group of its own."""
    return {value: everywhere.copy() if g is None else g for value, g in parts.items()}


def _together(path: str, sides: Sequence[Relations]) -> Parts | None:
    """Return the parts of a guard over the records of all sides, each of which has some."""
    found = [side.guards.get(path, {}) for side in sides]
    first = found[0]
    if first and None in first.values() and all(parts == first for parts in found):
        return dict(first)  # one value, everywhere
    total: Parts = {}
    for side, parts in zip(sides, found, strict=True):
        if parts is None or len(total.keys() | parts.keys()) > MOST_GUARD_VALUES:
            return None
        for value, group in _apart(parts, side.everywhere).items():
            mine = total.setdefault(value, Group())
            assert mine is not None and group is not None
            mine.merge(group)
    return total


@lru_cache(maxsize=1024)
def _category_places(keys: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (key, path) of the keys whose name is a category's, by name."""
    return [(key, f"/{escape(key)}") for key in sorted(filter(is_category, keys))]
