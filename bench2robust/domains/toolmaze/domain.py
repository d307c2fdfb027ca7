"""The ToolMaze domain: recorded tools, tasks with several ways to the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.dataflow import Told
from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.paths import leaves
from bench2robust.core.types import Task, ToolCall, ToolSpec, UserScript
from bench2robust.domains.files import checkout
from bench2robust.domains.guard import GuardedSession
from bench2robust.domains.recorded import GIVE_UP, fields_of, give_up
from bench2robust.domains.suite import Suite
from bench2robust.domains.toolmaze.alternatives import classes_of
from bench2robust.domains.toolmaze.definitions import Tool, read_groups, read_tools
from bench2robust.domains.toolmaze.tasks import Case, read_cases

__all__ = ["ToolMazeDomain", "load_toolmaze"]

_MOST_OUTPUTS = 10
_POLICY = (
    "Use the tools to do what the user asks. If a tool fails, use another that gives the same. If "
    "there is no way left, call give_up. End by telling the user the result."
)

Outputs = Mapping[tuple[str, str], Json]
"""From (tool, canonical arguments) to the recorded true output."""


class _Desk:
    """One episode: recorded outputs, and what its actions did."""

    def __init__(self, tools: Sequence[ToolSpec], outputs: Outputs) -> None:
        self.tools = tools
        self.revision = 0
        self._outputs = outputs
        self._writes = {spec.name for spec in tools if spec.kind == "write"}
        self._done: Counter[str] = Counter()

    def run(self, call: ToolCall) -> object:
        """Return the recorded output; an action is what it returns, whichever tool did it."""
        if call.name == GIVE_UP.name:
            return give_up(call.arguments)
        key = (call.name, canonical(call.arguments))
        if key not in self._outputs:
            raise LookupError(f"{call.name} has no recorded output for these arguments")
        output = self._outputs[key]
        if call.name in self._writes:
            self._done[canonical(output)] += 1
            self.revision += 1
        return output

    def delta(self) -> dict[str, str]:
        """Return what the actions did, in what they returned, each with how often it was done."""
        return {f"action/{text}": str(times) for text, times in self._done.items()}


class ToolMazeDomain(Suite):
    """ToolMaze's base tasks, without perturbation (see :func:`.perturbation.perturbation`).

    A task succeeds when its actions did what those of the first recorded path do, and the values
    of the expected result were told. (ToolMaze has a language model judge the last answer.)

    Attributes:
        cases: the base tasks by id, with their levels.
    """

    name = "toolmaze"
    transfer_tool = GIVE_UP.name
    policy = _POLICY

    def __init__(self, cases: Sequence[Case], tools: Mapping[str, Tool],
                 groups: Mapping[str, tuple[tuple[str, ...], ...]]) -> None:  # fmt: skip
        self.cases = {case.id: case for case in cases}
        self._outputs = {case.id: _recorded(case) for case in cases}
        seen = [pair for table in self._outputs.values() for pair in table.items()]
        self._specs = (*(_spec(tool, seen) for tool in tools.values()), GIVE_UP)
        self.classes, left_out = classes_of(groups, tools)
        if left_out:
            self.notes = (
                f"{len(left_out)} groups of alternatives have no way of one tool, so no tool of "
                f"theirs can be replaced: {', '.join(left_out[:10])}",
            )
        kinds = {spec.name: spec.kind for spec in self._specs}
        self._reads = _distinct(cases, {name for name, kind in kinds.items() if kind == "read"})
        super().__init__(
            (_task(case, kinds) for case in cases),
            *(f"{name} {arguments} {canonical(output)}" for (name, arguments), output in seen),
        )

    def case(self, task_id: str) -> Case:
        """Return a base task with its levels. Raises ``UnknownNameError``."""
        if task_id not in self.cases:
            raise UnknownNameError("task", task_id, self.cases)
        return self.cases[task_id]

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return every tool; ToolMaze always offers the alternatives."""
        return self._specs

    def offered(
        self, task: Task, alternatives: bool = False, heard: int = 0
    ) -> tuple[ToolSpec, ...]:
        """Return the tools of the task's own paths, and those that it lists as alternatives."""
        case = self.cases[task.id]
        names = {trace.call.name for path in case.clean.paths for trace in path}
        names.update(case.clean.alternatives, (GIVE_UP.name,))
        return tuple(spec for spec in self._specs if spec.name in names)

    def session(self, task: Task, alternatives: bool = False) -> GuardedSession:
        """Return a session that answers from the task's own recording."""
        return GuardedSession(_Desk(self.offered(task), self._outputs[task.id]))

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the recorded reads whose arguments stand in ``known``."""
        told = Told(known)
        for call, values in self._reads:
            if call.name not in blocked and all(map(told.has, values)):
                yield call


def load_toolmaze(data: str | None = None) -> ToolMazeDomain:
    """Return the ToolMaze domain.

    Args:
        data: a checkout of ToolMaze, with ``tools/definitions`` and ``data/perturbed_tasks``.

    Raises:
        DataError: the folder is missing, partial or damaged.
    """
    root = checkout("toolmaze", data)
    tools = read_tools(root / "tools" / "definitions")
    cases = read_cases(root / "data" / "perturbed_tasks")
    for case in cases:
        for trace in (t for path in case.clean.paths for t in path):
            if trace.call.name not in tools:
                raise DataError(f"{root}: task {case.id} calls {trace.call.name!r}, which "
                                "tools/definitions lacks")  # fmt: skip
    return ToolMazeDomain(cases, tools, read_groups(root / "tools" / "definitions", tools))


def _distinct(cases: Sequence[Case], reads: set[str]) -> list[tuple[ToolCall, list[Json]]]:
    """Return each recorded read once, with the values of its arguments."""
    calls = (t.call for case in cases for path in case.clean.paths for t in path)
    found = {(c.name, canonical(c.arguments)): c for c in calls if c.name in reads}
    return [(call, [leaf for _, leaf in leaves(call.arguments)]) for call in found.values()]


def _recorded(case: Case) -> dict[tuple[str, str], Json]:
    traces = (trace for path in case.clean.paths for trace in path)
    return {(t.call.name, canonical(t.call.arguments)): t.output for t in traces}


def _task(case: Case, kinds: Mapping[str, str]) -> Task:
    actions = tuple(trace.call for trace in case.clean.paths[0])
    outputs = _outputs(case.expected)
    acts = any(kinds[call.name] == "write" for call in actions)
    return Task(
        id=case.id,
        split="test",
        intent="plain",
        user=UserScript(case.query),
        actions=actions,
        outputs=outputs,
        flags=() if acts or outputs else ("nothing_passes", "needs_judge"),
    )


def _outputs(expected: Json) -> tuple[str, ...]:
    """Return what must be told: the numbers and short texts of the expected result."""
    found = [leaf for _, leaf in leaves(expected) if isinstance(leaf, (str, int, float))]
    texts = [str(leaf) for leaf in found if not isinstance(leaf, bool)]
    return tuple(dict.fromkeys(t for t in texts if 0 < len(t) <= 80))[:_MOST_OUTPUTS]


def _spec(tool: Tool, seen: Sequence[tuple[tuple[str, str], Json]]) -> ToolSpec:
    outputs = [output for (name, _), output in seen if name == tool.name]
    told = tool.description or tool.name
    return ToolSpec(tool.name, told, tool.parameters, tool.kind, fields_of(outputs))
