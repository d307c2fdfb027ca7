"""What the clauses look at: a domain, some of its tasks, and one clean run of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.domain import Domain, Outcome, Session
from bench2robust.core.types import Task, ToolCall, ToolResult, ToolSpec
from bench2robust.domains.deadline import OverdueError, within

__all__ = ["Run", "Sample", "Step", "WrongResultError", "make"]

SECONDS = 60.0
"""How long one call may take before the suite takes it for hanging."""
_PROBES = 200
"""Probes of one text that are made."""


class WrongResultError(Exception):
    """What came back from a call is no result, or nothing came back."""


class Step(NamedTuple):
    """One call of a run, and the session before and after it."""

    call: ToolCall
    result: ToolResult
    revisions: tuple[int, int]
    deltas: tuple[dict[str, str], dict[str, str]]


class Run(NamedTuple):
    """The gold calls of a task, made on a session of their own."""

    task: Task
    session: Session
    steps: tuple[Step, ...]
    outcome: Outcome

    @property
    def entries(self) -> list[LogEntry]:
        """The executed log of the run."""
        return [LogEntry(s.call, s.result, s.revisions[0] != s.revisions[1]) for s in self.steps]


class Sample:
    """Some tasks of a domain, spread evenly over it, and their runs.

    Args:
        tasks: the ids to look at; or how many.
    """

    def __init__(self, domain: Domain, tasks: Sequence[str] | int) -> None:
        self.domain = domain
        every = domain.tasks()
        if isinstance(tasks, int):
            count = min(tasks, len(every))
            self.tasks = [every[i * len(every) // count] for i in range(count)]
        else:
            self.tasks = [domain.task(task_id) for task_id in tasks]

    @cached_property
    def specs(self) -> dict[str, ToolSpec]:
        """Every tool, the alternatives too, by name."""
        return {spec.name: spec for spec in self.domain.tools(True)}

    @cached_property
    def runs(self) -> list[Run]:
        """A clean run of the gold calls of each task."""
        return [self.run(task) for task in self.tasks]

    def run(self, task: Task) -> Run:
        """Make a task's gold calls (or, where it is judged by calls, the required ones)."""
        session = self.domain.session(task, True)
        steps = [take(session, call) for call in task.actions or task.required]
        run = Run(task, session, tuple(steps), Outcome(False, False, False, 0, 0))
        outcome = self.domain.evaluate(task, session, run.entries, task.outputs)
        return run._replace(outcome=outcome)

    def probes(self, known: str, blocked: frozenset[str] = frozenset()) -> Iterator[ToolCall]:
        """Return the first probes of a text."""
        return islice(self.domain.probes(known, blocked), _PROBES)

    @cached_property
    def answers(self) -> list[tuple[ToolCall, Json]]:
        """Every good answer seen: in the runs, and to probes of what users tell and runs show."""
        seen = [(s.call, s.result) for run in self.runs for s in run.steps]
        for run in self.runs[:5]:
            session = self.domain.session(run.task, True)
            known = run.task.user.text()
            for _ in range(2):
                found = [(call, make(session, call)) for call in self.probes(known)]
                known = "\n".join((known, *(r.content for _, r in found if not r.is_error)))
                seen += found
        return _good(seen)

    def more_answers(self, tool: str) -> Iterator[Json]:
        """Every good answer of a tool to the gold calls of the whole suite, as it is asked for."""
        for task in self.domain.tasks():
            if any(call.name == tool for call in task.actions or task.required):
                seen = ((step.call, step.result) for step in self.run(task).steps)
                yield from (value for call, value in _good(seen) if call.name == tool)


def _good(seen: Iterable[tuple[ToolCall, ToolResult]]) -> list[tuple[ToolCall, Json]]:
    return [(call, parse_result(r.content)) for call, r in seen if not r.is_error]


def take(session: Session, call: ToolCall) -> Step:
    """Make a call and note the session's state around it."""
    before, at = dict(session.delta()), session.revision
    result = make(session, call)
    return Step(call, result, (at, session.revision), (before, dict(session.delta())))


def make(session: Session, call: ToolCall) -> ToolResult:
    """Make a call and return its result.

    Raises:
        WrongResultError: it raised, did not end, or returned something that is no result.
    """
    what = f"{str(call.name)[:60]!r}"
    try:
        result: object = within(SECONDS, lambda: session.call(call))
    except OverdueError:
        raise WrongResultError(f"a call of {what} did not end within {SECONDS:g} s") from None
    except Exception as error:
        raise WrongResultError(
            f"a call of {what} raised {type(error).__name__}: {str(error)[:200]}; "
            "it must come back as a result with is_error"
        ) from error
    good = isinstance(result, ToolResult) and isinstance(result.content, str)
    if not good or not isinstance(result.is_error, bool):  # type: ignore[attr-defined]
        raise WrongResultError(f"a call of {what} returned {type(result).__name__}, no ToolResult")
    return result  # type: ignore[return-value]
