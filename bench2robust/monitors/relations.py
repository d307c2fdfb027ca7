"""The linear relations of a tool's results: on all records, and where a guard has one value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.groups import Group
from bench2robust.monitors.lexicon import is_category
from bench2robust.monitors.pointers import escape

__all__ = ["Relations"]

MOST_GUARD_VALUES = 8
MOST_GUARDS = 2
_LONGEST_GUARD = 64


class Relations:
    """The relations of one tool: on all records, and on those with one value of a guard.

    Attributes:
        everywhere: what holds on all records.
        guards: path of a guard -> its value -> what holds there; None once it had too many
            values. Guards are texts at the top whose name is that of a category.
    """

    def __init__(self) -> None:
        self.everywhere = Group()
        self.guards: dict[str, dict[str, Group] | None] = {}

    def add(self, result: Json) -> None:
        """Add one record."""
        base = self.everywhere.plan()
        numbers = base.numbers(result)
        agreed = self.everywhere.n > 0 and base.agrees(numbers)
        if agreed:
            self.everywhere.count(base, numbers)
        else:
            self.everywhere.absorb(result)
        for group in self._parts(result):
            plan = group.plan(base)
            more = plan.numbers(result, numbers) if agreed and group.n else [None]
            if plan.agrees(more):
                group.count(plan, more)
            else:
                group.absorb(result)

    def _parts(self, result: Json) -> Iterator[Group]:
        """Yield the groups to which a record belongs by its guards."""
        for path, value in _guards(result):
            groups = self.guards.setdefault(path, {})
            if groups is None:
                continue
            group = groups.get(value)
            if group is None:
                if len(groups) >= MOST_GUARD_VALUES:
                    self.guards[path] = None
                    continue
                group = groups[value] = Group()
            yield group

    def merge(self, other: Relations) -> None:
        """Add another shard's records."""
        self.everywhere.merge(other.everywhere)
        for path, theirs in other.guards.items():
            mine = self.guards.setdefault(path, {})
            if mine is None:
                continue
            if theirs is None or len(mine.keys() | theirs.keys()) > MOST_GUARD_VALUES:
                self.guards[path] = None
                continue
            for value, group in theirs.items():
                mine.setdefault(value, Group()).merge(group)

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        guards = {
            path: None if groups is None else {v: group.to_json() for v, group in groups.items()}
            for path, groups in self.guards.items()
        }
        return {"everywhere": self.everywhere.to_json(), "guards": guards}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Relations:
        """Return the relations of a saved state."""
        relations = cls()
        relations.everywhere = Group.from_json(state["everywhere"])
        for path, groups in state["guards"].items():
            relations.guards[path] = None
            if groups is not None:
                found = {value: Group.from_json(row) for value, row in groups.items()}
                relations.guards[path] = found
        return relations


def _guards(result: Json) -> Iterator[tuple[str, str]]:
    if type(result) is not dict:
        return
    names = [
        key
        for key, value in result.items()
        if type(value) is str and is_category(key) and len(value) <= _LONGEST_GUARD
    ]
    for key in sorted(names)[:MOST_GUARDS]:
        yield f"/{escape(key)}", result[key]
