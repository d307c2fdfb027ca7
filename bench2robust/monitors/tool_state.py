"""Everything that mining keeps of one tool; it merges, and does not grow with the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.echoes import Echoes
from bench2robust.monitors.errors_told import alarms
from bench2robust.monitors.extensions import Findings, extension
from bench2robust.monitors.relations import Relations
from bench2robust.monitors.shape import Tree

__all__ = ["ToolState", "merged"]

MOST_ALARMS = 64


class ToolState:
    """What was seen of one tool.

    Attributes:
        records: how many calls.
        tree: the shape of the results.
        echoes: the arguments that results repeat.
        relations: the linear relations in results.
        alarms: path -> records whose field there tells of an error; None once there were more
            than ``MOST_ALARMS`` paths.
        further: code of an extension class -> what it has seen.

    Args:
        extensions: codes of extension classes.
    """

    def __init__(self, extensions: Sequence[str] = ()) -> None:
        self.records = 0
        self.tree = Tree()
        self.echoes = Echoes()
        self.relations = Relations()
        self.alarms: dict[str, int] | None = {}
        self.further = {code: Findings(extension(code)) for code in extensions}

    def add(self, arguments: Mapping[str, Json], result: Json, bit: int) -> None:
        """Add one record; ``bit`` is the bucket of its task."""
        self.tree.add(result, self.records, bit)
        self.relations.add(result, self.tree)
        if not self.tree.full:
            self.echoes.add(arguments, result, self.records, self.tree)
        for node in self.tree.alarming:
            if node.was_in(self.records) or self.tree.full:
                self._alarm({alarm.path: 1 for alarm in alarms(result)})
                break
        for findings in self.further.values():
            findings.add(result, bit)
        self.records += 1

    def _alarm(self, told: Mapping[str, int] | None) -> None:
        if told and self.alarms is not None:
            for path, records in told.items():
                self.alarms[path] = self.alarms.get(path, 0) + records
        if told is None or (self.alarms and len(self.alarms) > MOST_ALARMS):
            self.alarms = None

    def merge(self, other: ToolState) -> None:
        """Add other records of the same tool."""
        self.records += other.records
        self.tree.merge(other.tree)
        self.relations.merge(other.relations)
        self.echoes.merge(other.echoes)
        self._alarm(other.alarms)
        for code, findings in other.further.items():
            self.further.setdefault(code, Findings(findings.kind)).merge(findings)

    def settle(self) -> None:
        """Drop what belongs to places that were given up."""
        self.echoes.follow(self.tree)
        self.relations.look(self.tree)

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        self.settle()
        return {
            "records": self.records,
            "tree": self.tree.to_json(),
            "echoes": self.echoes.to_json(),
            "relations": self.relations.to_json(),
            "alarms": self.alarms,
            "further": {code: findings.to_json() for code, findings in self.further.items()},
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> ToolState:
        """Return the state of a saved one."""
        state = cls()
        state.records, state.alarms = row["records"], row["alarms"]
        state.tree = Tree.from_json(row["tree"])
        state.echoes = Echoes.from_json(row["echoes"])
        state.relations = Relations.from_json(row["relations"])
        for code, found in row["further"].items():
            state.further[code] = Findings.from_json(extension(code), found)
        return state


def merged(states: Iterable[ToolState]) -> ToolState:
    """Return the state of all records of the given ones, which stay as they are."""
    total = ToolState()
    for state in states:
        total.merge(state)
    total.settle()
    return total
