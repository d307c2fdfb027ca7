"""A domain of τ²-bench: its tasks and live environments, and a verdict from those alone.

τ²-bench's own evaluator runs the observed calls again and compares texts, so a fault that was seen
makes it raise, and a write that was retried counts twice. Nothing is run again here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from bench2robust.core.backend import LogEntry
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import DataError
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.keyed import digest
from bench2robust.core.types import Task, ToolCall, ToolSpec
from bench2robust.domains.files import read_json
from bench2robust.domains.flags import flag_notes, gold_flag
from bench2robust.domains.suite import Gold, Suite
from bench2robust.domains.tau2.copies import private
from bench2robust.domains.tau2.kit import Kit
from bench2robust.domains.tau2.opening import data_folder
from bench2robust.domains.tau2.package import INSTALL, find_package
from bench2robust.domains.tau2.session import Tau2Session
from bench2robust.domains.tau2.state import Start
from bench2robust.domains.tau2.tasks import read_cases
from bench2robust.domains.tau2.tools import TRANSFER, toolsets, user_specs
from bench2robust.domains.verdict import communicated, matched, rules_kept

__all__ = ["Tau2Domain"]


class Tau2Domain(Suite):
    """A domain of τ²-bench through the installed package.

    A task succeeds when every part of its reward basis is met: ``DB``, the live state equals the
    gold state; ``ENV_ASSERTION``, every assertion holds in the live environment; ``ACTION``, every
    gold call was executed; ``COMMUNICATE``, every required string was told.

    Args:
        kit: which domain.
        data: a folder with the domain's files; None for the package's own.

    Attributes:
        user_tools: the tools that the user has.
        notes: remarks on the suite: which package, which tasks are flagged, and why.

    Raises:
        DataError: the package or its data are missing, damaged or of another version.
    """

    transfer_tool = TRANSFER

    def __init__(self, kit: Kit, data: str | None = None) -> None:
        self.name = kit.name
        package = find_package(kit.folder)
        folder = data_folder(data, package.folder, INSTALL)
        opened = kit.open(package, folder)
        raw = read_json(folder / "tasks.json")
        cases = [
            case._replace(task=replace(case.task, user=kit.script(case.task.user)))
            for case in read_cases(raw, read_json(folder / "split_tasks.json"), str(folder))
        ]
        super().__init__(case.task for case in cases)
        self.policy = opened.policy
        self._kit = kit
        self._package = package
        self._databases = opened.databases
        self._build = partial(kit.build, package)
        self._shared = Start(self._build(*opened.databases), self._build, kit.lazy)
        self._stock, self._augmented = toolsets(kit, self._shared.environment, opened)
        self.user_tools = user_specs(self._shared.environment)
        self.classes = _offered(kit.classes, self._augmented.specs)
        self._probes = kit.probes(opened)
        self._names = frozenset(spec.name for spec in self._augmented.specs)
        self._cases = {case.task.id: case for case in cases}
        self._starts: dict[str, Start] = {}
        tasks = orjson.dumps([case._asdict() for case in cases], default=_plain)
        self.digest = digest(opened.digest, tasks.decode(), opened.policy, size=16)
        self._tasks = {task.id: self._flagged(task) for task in self._tasks.values()}
        self.notes = (f"run by {package.label}", *flag_notes(tuple(self._tasks.values())))

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the tool specifications, with the alternative tools if asked."""
        return (self._augmented if alternatives else self._stock).specs

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make."""
        return (c for c in self._probes(known, blocked) if c.name in self._names - blocked)

    def session(self, task: Task, alternatives: bool = False) -> Tau2Session:
        """Return a fresh session at the task's start."""
        toolset = self._augmented if alternatives else self._stock
        return Tau2Session(self._start(task), toolset, self._kit.hear)

    def _start(self, task: Task) -> Start:
        """Return the state in which a task starts; most domains have one for all tasks."""
        initial = self._cases[task.id].initial
        if not initial:
            return self._shared
        start = self._starts.get(task.id)
        if start is None:
            start = self._starts[task.id] = self._begin(task, initial)
        return start

    def _begin(self, task: Task, initial: Mapping[str, Any]) -> Start:
        parts = [private(part) for part in self._databases]
        environment = self._build(*parts)
        models = self._package.tasks
        try:
            data = initial.get("initialization_data")
            actions = initial.get("initialization_actions") or ()
            environment.set_state(
                initialization_data=data and models.InitializationData.model_validate(data),
                initialization_actions=[models.EnvFunctionCall.model_validate(a) for a in actions],
                message_history=[],
            )
        except Exception as error:  # the package runs what the file says, which may raise anything
            raise DataError(
                f"{self.name}: the initial state of task {task.id!r} cannot be made: {error}"
            ) from error
        return Start(environment, self._build, self._kit.lazy)

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge an episode; calls that the tool refused count as made."""
        gold, basis = self._gold_of(task), self._cases[task.id].basis
        made = matched(gold.calls, executed)
        told = communicated(task.outputs, said)
        state = self._state(task, session, gold)
        if task.forbidden or task.required:
            success = rules_kept(task, executed)
        else:
            actions = "ACTION" not in basis or made == len(task.actions)
            success = state and told and actions
        return Outcome(success, state, told, made, len(task.actions))

    def _state(self, task: Task, session: Session, gold: Gold) -> bool:
        """Whether the live state is what the task's basis wants; gold's where it wants none."""
        basis, assertions = self._cases[task.id].basis, self._cases[task.id].assertions
        if "ENV_ASSERTION" in basis:
            assert isinstance(session, Tau2Session)
            model = self._package.tasks.EnvAssertion
            wanted = [model.model_validate(raw) for raw in assertions]
            if not all(_holds(session.environment, assertion) for assertion in wanted):
                return False
        return "DB" not in basis or session.delta() == gold.delta

    def _flagged(self, task: Task) -> Task:
        """Replay a task's gold calls; flag where one is refused, and where none is needed."""
        session, log = self.session(task), []
        for call in task.actions:
            log.append(LogEntry(call, session.call(call)))
        kinds = {spec.name: spec.kind for spec in (*self.tools(), *self.user_tools)}
        refused = [kinds.get(e.call.name) for e in log if e.result.is_error]
        passes = self.evaluate(task, session, log, task.outputs).success
        idle = self.evaluate(task, self.session(task), (), ()).success
        found = (
            gold_flag(refused),
            "" if passes else "gold_fails",
            "nothing_passes" if idle else "",
        )
        return replace(task, flags=(*task.flags, *filter(None, found)))


def _holds(environment: Any, assertion: Any) -> bool:
    try:
        return bool(environment.run_env_assertion(assertion, raise_assertion_error=False))
    except Exception:  # what an assertion is about may be gone
        return False


def _offered(
    classes: Sequence[FallbackClass], specs: Sequence[ToolSpec]
) -> tuple[FallbackClass, ...]:
    """Return the classes with the members that this version of the package has."""
    names = {spec.name for spec in specs}
    kept = (
        replace(
            cls,
            members=tuple(m for m in cls.members if m in names),
            paths=tuple(p for p in cls.paths if {p.source, p.target} <= names),
        )
        for cls in classes
    )
    return tuple(cls for cls in kept if len(cls.members) > 1)


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)
