"""What most domains share: tasks by id and split, and a verdict from the live state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import orjson

from bench2robust.core.backend import LogEntry
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.keyed import digest
from bench2robust.core.types import Task, ToolCall, ToolSpec
from bench2robust.domains.verdict import (
    CallKey,
    call_keys,
    communicated,
    matched,
    rules_kept,
)

__all__ = ["Gold", "Suite"]


class Gold(NamedTuple):
    """What a task's gold calls lead to."""

    actions: tuple[ToolCall, ...]
    delta: Mapping[str, str]
    calls: Counter[CallKey]


class Suite(ABC):
    """A domain that lacks only its tools: ``tools``, ``session`` and ``probes``.

    A task succeeds when the live state equals the one that its gold calls lead to, and every
    required string was told. A task with forbidden or required calls is judged by the calls that
    were executed instead.

    Args:
        tasks: the suite, in order.
        texts: whatever else makes results comparable, such as the text of a database; it goes
            into the digest with tasks, tools and policy.

    Raises:
        DataError: two tasks have one id.
    """

    name: str
    policy: str = ""
    notes: tuple[str, ...] = ()
    classes: tuple[FallbackClass, ...] = ()
    transfer_tool: ClassVar[str] = ""

    def __init__(self, tasks: Iterable[Task], *texts: str) -> None:
        self._tasks: dict[str, Task] = {}
        for task in tasks:
            if task.id in self._tasks:
                raise DataError(f"{self.name}: two tasks have the id {task.id!r}: rename one")
            self._tasks[task.id] = task
        self._gold: dict[str, Gold] = {}
        self._texts = texts

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of data, tasks, tools and policy."""
        shown = [spec.openai() for spec in self.tools(True)]
        plain = orjson.dumps([list(self._tasks.values()), shown], default=list)
        return digest(*self._texts, plain.decode(), self.policy, size=16)

    def tasks(self, split: str | None = None) -> Sequence[Task]:
        """Return the tasks of a split (all if None), in the suite's order."""
        if split not in (None, "train", "test"):
            raise UnknownNameError("split", split, ("train", "test"))
        return tuple(t for t in self._tasks.values() if split in (None, t.split))

    def task(self, task_id: str) -> Task:
        """Return one task. Raises ``UnknownNameError`` with the nearest ids."""
        if task_id not in self._tasks:
            raise UnknownNameError("task", task_id, self._tasks)
        return self._tasks[task_id]

    @abstractmethod
    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the tool specifications, with the alternative tools if asked."""

    @abstractmethod
    def session(self, task: Task, alternatives: bool = False) -> Session:
        """Return a fresh session at the task's start."""

    @abstractmethod
    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make."""

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
        made = matched(gold.calls, executed)
        return Outcome(success, state, told, made, len(task.actions))

    def _gold_of(self, task: Task) -> Gold:
        gold = self._gold.get(task.id)
        if gold is None or gold.actions is not task.actions:
            session = self.session(task, True)
            for call in task.actions:
                session.call(call)
            gold = Gold(task.actions, session.delta(), call_keys(task.actions))
            self._gold[task.id] = gold
        return gold
