"""The StableToolBench domain: queries over recorded APIs, which change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, canonical, parse_result
from bench2robust.core.dataflow import Told
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import DataError
from bench2robust.core.paths import leaves
from bench2robust.core.types import Task, ToolCall, ToolResult, ToolSpec, UserScript
from bench2robust.domains.files import checkout
from bench2robust.domains.guard import GuardedSession
from bench2robust.domains.recorded import GIVE_UP, fields_of, give_up
from bench2robust.domains.stabletoolbench.queries import (
    Api,
    Query,
    Recorded,
    read_queries,
    read_recorded,
)
from bench2robust.domains.suite import Suite

__all__ = ["StableToolBenchDomain", "load_stabletoolbench"]

_POLICY = (
    "Answer the user's query with the functions. Tell the whole answer, with what the functions "
    "returned. If they do not let you answer it, call give_up."
)


class _Desk:
    """One episode: recorded answers, by function and canonical arguments."""

    revision = 0

    def __init__(self, tools: Sequence[ToolSpec], answers: Mapping[str, ToolResult]) -> None:
        self.tools = tools
        self._answers = answers

    def run(self, call: ToolCall) -> object:
        """Return what was recorded for exactly these arguments."""
        if call.name == GIVE_UP.name:
            return give_up(call.arguments)
        answer = self._answers.get(_key(call))
        if answer is None:
            raise LookupError(f"{call.name} has no recorded response for these arguments")
        return answer

    def delta(self) -> dict[str, str]:
        """Return nothing: the APIs only read."""
        return {}


class StableToolBenchDomain(Suite):
    """The solvable queries whose relevant APIs have recorded responses.

    The benchmark publishes neither gold calls nor answers: a language model judges. The gold calls
    here are ours: of each relevant API one recorded call without an error, with values that the
    query tells if there is one. A query passes when every relevant API gave a good answer.
    """

    name = "stabletoolbench"
    transfer_tool = GIVE_UP.name
    policy = _POLICY

    def __init__(self, queries: Sequence[Query], apis: Mapping[str, Api],
                 recorded: Mapping[str, list[Recorded]]) -> None:  # fmt: skip
        self._recorded = recorded
        self._answers = {
            _key(ToolCall(name, r.arguments)): ToolResult(r.content, r.is_error)
            for name, records in recorded.items()
            for r in records
        }
        specs = [_spec(api, recorded.get(name, ())) for name, api in apis.items()]
        self._specs = (*specs, GIVE_UP)
        tasks = [task for query in queries if (task := _task(query, recorded)) is not None]
        self._functions = {_task_id(query): query.functions for query in queries}
        left_out = len(queries) - len(tasks)
        self.notes = (
            "needs_judge: the official score is a language model's; here a query passes when "
            "every relevant API gave a good answer",
        )
        if left_out:
            self.notes += (
                f"{left_out} of {len(queries)} queries are left out: a relevant API has no "
                f"recorded response without an error",
            )
        if not tasks:
            raise DataError("stabletoolbench: no query has recorded responses: check that "
                            "tool_response_cache belongs to these queries")  # fmt: skip
        super().__init__(tasks, *(f"{key} {r.content}" for key, r in self._answers.items()))

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the functions of every query; there are no alternatives."""
        return self._specs

    def offered(
        self, task: Task, alternatives: bool = False, heard: int = 0
    ) -> tuple[ToolSpec, ...]:
        """Return the functions that the query may use."""
        names = {*self._functions[task.id], GIVE_UP.name}
        return tuple(spec for spec in self._specs if spec.name in names)

    def session(self, task: Task, alternatives: bool = False) -> GuardedSession:
        """Return a session that answers from the recording."""
        return GuardedSession(_Desk(self.offered(task), self._answers))

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge by the answers that the agent saw, since there is no state to look at."""
        seen = executed if observed is None else observed
        good = {entry.call.name for entry in seen if not entry.result.is_error}
        success = all(call.name in good for call in task.actions)
        outcome = super().evaluate(task, session, executed, said)
        return outcome._replace(success=success)

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the recorded calls whose arguments stand in ``known``."""
        told = Told(known)
        for name, records in self._recorded.items():
            for record in records if name not in blocked else ():
                if _all_told(told, record.arguments):
                    yield ToolCall(name, record.arguments)


def load_stabletoolbench(data: str | None = None) -> StableToolBenchDomain:
    """Return the StableToolBench domain.

    Args:
        data: a folder with ``solvable_queries/test_instruction`` and ``tool_response_cache`` (or
            ``server/tool_response_cache``, where a checkout has it).

    Raises:
        DataError: the folder is missing, partial or damaged.
    """
    root = checkout("stabletoolbench", data)
    queries, apis = read_queries(root / "solvable_queries" / "test_instruction")
    cache = root / "tool_response_cache"
    if not cache.is_dir() and (root / "server" / "tool_response_cache").is_dir():
        cache = root / "server" / "tool_response_cache"
    return StableToolBenchDomain(queries, apis, read_recorded(cache, apis))


def _key(call: ToolCall) -> str:
    return f"{call.name} {canonical(call.arguments)}"


def _all_told(told: Told, arguments: Mapping[str, Json]) -> bool:
    return all(told.has(leaf) for _, leaf in leaves(dict(arguments)))


def _task_id(query: Query) -> str:
    return f"{query.group}-{query.id}"


def _task(query: Query, recorded: Mapping[str, list[Recorded]]) -> Task | None:
    """Return a query as a task; None if a relevant API has no good recording."""
    actions = []
    told = Told(query.text)
    for name in query.relevant:
        good = [r for r in recorded.get(name, ()) if not r.is_error]
        if not good:
            return None
        best = next((r for r in good if _all_told(told, r.arguments)), good[0])
        actions.append(ToolCall(name, best.arguments))
    if not actions:
        return None
    return Task(
        id=_task_id(query),
        split="test",
        intent="plain",
        user=UserScript(query.text),
        actions=tuple(actions),
        flags=("needs_judge",),
    )


def _spec(api: Api, records: Sequence[Recorded]) -> ToolSpec:
    values = [parse_result(r.content) for r in records if not r.is_error]
    return ToolSpec(api.function, api.description, api.parameters, "read", fields_of(values))
