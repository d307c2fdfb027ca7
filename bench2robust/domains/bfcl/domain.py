"""The domain ``bfcl``: 800 tasks of several turns, in four categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.backend import CallLog, LogEntry
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import DataError, UnknownNameError, shown
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.keyed import digest
from bench2robust.core.types import Task, ToolCall, ToolSpec
from bench2robust.domains.bfcl.fallbacks import CLASSES as FALLBACKS
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.package import CLASSES, VERSION, Package, the_package
from bench2robust.domains.bfcl.policy import POLICY
from bench2robust.domains.bfcl.probes import probes
from bench2robust.domains.bfcl.session import BfclSession, Start
from bench2robust.domains.bfcl.specs import TRANSFER_SPEC, read_spec
from bench2robust.domains.bfcl.tasks import CATEGORIES, Entry, read_entries, read_lines
from bench2robust.domains.bfcl.verdict import CallKey, Read, call_key, informed, matched
from bench2robust.domains.flags import flag_notes, gold_flag

__all__ = ["BfclDomain", "load_bfcl"]


class _Gold(NamedTuple):
    """What a task's gold calls lead to."""

    actions: tuple[ToolCall, ...]
    instances: Mapping[str, Any]
    reads: tuple[Read, ...]
    calls: Counter[CallKey]


class BfclDomain:
    """Eight classes of tools, tasks that involve one or two of them, and the verdict on an episode.

    A task succeeds when the live state equals the gold state, by the benchmark's own comparison,
    and the agent was told what each gold read tells (see :mod:`.verdict`); ``communicated`` of an
    outcome is the latter. Both are judged at the end of the episode, not after each turn.

    Attributes:
        entries: by task id, what the benchmark says about the task.
        notes: remarks on the suite: which tasks are flagged, and why; no published one is.
    """

    name = "bfcl"
    policy = POLICY
    transfer_tool = TRANSFER
    classes: tuple[FallbackClass, ...] = FALLBACKS

    def __init__(self, package: Package, folder: Path, categories: Sequence[str]) -> None:
        self._package = package
        self._specs = {name: _read_specs(folder, name, module) for name, module in CLASSES.items()}
        parameters = {
            name: {spec.name: tuple(spec.parameters["properties"]) for spec in specs}
            for name, specs in self._specs.items()
        }
        found = (read_entries(folder, c, parameters, package.more_tools) for c in categories)
        self.entries = {entry.task.id: entry for part in found for entry in part}
        self._all = (*(s for specs in self._specs.values() for s in specs), TRANSFER_SPEC)
        self._starts: dict[str, Start] = {}
        self._gold: dict[str, _Gold] = {}
        self.entries = {i: self._flagged(entry) for i, entry in self.entries.items()}
        self.notes = flag_notes(self.tasks())

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of the tasks, the version of the tools, and the policy."""
        rows = (f"{entry.raw!r} {entry.gold!r}" for entry in self.entries.values())
        return digest(VERSION, POLICY, *rows, size=16)

    def _flagged(self, entry: Entry) -> Entry:
        """Replay the gold calls, and flag the task where one is refused."""
        session, made = self._play(entry.task)
        kinds = {spec.name: spec.kind for spec in session.tools}
        refused = gold_flag([kinds.get(e.call.name) for e in made if e.result.is_error])
        if not refused:
            return entry
        return entry._replace(task=replace(entry.task, flags=(refused,)))

    def tasks(self, split: str | None = None) -> Sequence[Task]:
        """Return the tasks of a split (all if None); the benchmark has no training tasks."""
        if split not in (None, "train", "test"):
            raise UnknownNameError("split", split, ("train", "test"))
        return () if split == "train" else tuple(entry.task for entry in self.entries.values())

    def task(self, task_id: str) -> Task:
        """Return one task. Raises ``UnknownNameError`` with the nearest ids."""
        return self._entry(task_id).task

    def _entry(self, task_id: str) -> Entry:
        if task_id not in self.entries:
            raise UnknownNameError("task", task_id, self.entries)
        return self.entries[task_id]

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return every tool of every class; the benchmark's own tools are all alternatives."""
        return self._all

    def offered(
        self, task: Task, alternatives: bool = False, heard: int = 0
    ) -> tuple[ToolSpec, ...]:
        """Return the tools of the task's classes, less those that come with a later turn."""
        return self._start(task).offered(heard)

    def _start(self, task: Task) -> Start:
        start = self._starts.get(task.id)
        if start is None:
            entry = self._entry(task.id)
            classes = {name: self._package.classes[name] for name in entry.classes}
            start = Start(
                classes,
                entry.raw["initial_config"],
                self._specs,
                (TRANSFER_SPEC,),
                entry.held,
                entry.long_context,
            )
            self._starts[task.id] = start
        return start

    def session(self, task: Task, alternatives: bool = False) -> BfclSession:
        """Return a fresh session with instances of its own."""
        return BfclSession(self._start(task))

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge an episode; nothing that was ``said`` counts."""
        assert isinstance(session, BfclSession)
        gold = self._gold_of(task)
        state = self._same_state(session.instances, gold.instances)
        told = informed(gold.reads, executed if observed is None else observed)
        found = matched(gold.calls, executed)
        return Outcome(state and told, state, told, found, len(gold.actions))

    def _same_state(self, live: Mapping[str, Any], gold: Mapping[str, Any]) -> bool:
        try:
            return bool(self._package.same_state(live, gold)["valid"])
        except RecursionError:  # a directory that an agent copied into itself
            return False

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make."""
        return probes(self._all, known, blocked)

    def _play(self, task: Task) -> tuple[BfclSession, list[LogEntry]]:
        session = self.session(task)
        log = CallLog(session)
        for call in task.actions:
            log.call(call)
        return session, log.entries

    def _gold_of(self, task: Task) -> _Gold:
        gold = self._gold.get(task.id)
        if gold is None or gold.actions is not task.actions:
            gold = self._gold[task.id] = self._make_gold(task)
        return gold

    def _make_gold(self, task: Task) -> _Gold:
        session, entries = self._play(task)
        kinds = {spec.name: spec.kind for spec in session.tools}
        paths = {e.call.name: _paths_from(e.call.name) for e in entries}
        reads = tuple(
            Read.of(e.call, e.result.content, paths[e.call.name])
            for e in entries
            if kinds.get(e.call.name) not in ("write", None)
        )
        keys = Counter(map(call_key, task.actions))
        return _Gold(task.actions, session.instances, reads, keys)


def _paths_from(tool: str) -> tuple[Any, ...]:
    return tuple(path for cls in FALLBACKS for path in cls.paths_from(tool))


def _read_specs(folder: Path, owner: str, module: str) -> tuple[ToolSpec, ...]:
    file = folder / "multi_turn_func_doc" / f"{module}.json"
    return tuple(read_spec(row, owner, where) for row, where in read_lines(file))


def load_bfcl(data: str | None = None) -> BfclDomain:
    """Return the domain.

    Args:
        data: None for all four categories, one of them (``base``, ``miss_func``, ``miss_param``,
            ``long_context``), or a folder laid out as the package's ``data`` with at least one.

    Raises:
        DataError: the package is missing or of another version, or a file is missing or damaged.
    """
    package = the_package()
    if data is None or data in CATEGORIES:
        return BfclDomain(package, package.data, CATEGORIES if data is None else (data,))
    folder = Path(data)
    present = [c for c in CATEGORIES if (folder / f"BFCL_v4_multi_turn_{c}.json").is_file()]
    if not present:
        raise DataError(
            f"data {shown(data)} is neither a category ({', '.join(CATEGORIES)}) nor a folder with "
            f"BFCL_v4_multi_turn_*.json: leave it out for the data of the package"
        )
    return BfclDomain(package, folder, present)
