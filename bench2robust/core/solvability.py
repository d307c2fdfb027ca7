"""What blocking does to a task: the classes it needs, the switches that work, the impossible.

Everything here runs on bare sessions, without noise: the answers depend on the task alone and are
computed once per task. The proofs of single (task, scenario, seed) cells, with their noise, are in
``evaluation.certificates``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from bench2robust.core.backend import CallLog
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.completion import complete, replay
from bench2robust.core.dataflow import MissingValueError, Plan, build_plan, resolve
from bench2robust.core.domain import Domain
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import MISSING, Path, get
from bench2robust.core.search import SearchLimitError, search
from bench2robust.core.types import Scenario, Task, ToolCall, ToolSpec

__all__ = ["Analysis", "Route", "Sides", "analyse", "solve"]


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a fallback class for one task: the tools its plan calls, and the rest."""

    name: str
    primary: frozenset[str]
    alternative: frozenset[str]


@dataclass(frozen=True)
class Analysis:
    """What one task allows (section 2.1).

    Attributes:
        plan: the task's dataflow plan.
        critical: classes with a member that the plan's outcome depends on.
        relevant: the critical classes whose primary side the plan cannot do without.
        switchable: the relevant classes whose open side, with the primary blocked, still leads to
            success; S2 chooses among these.
        needed: by tool, the result paths that the plan reads; a tool that can stand in for one of
            the plan's is absent (all its decision-critical fields matter), any other has none.
        solved: whether the plan passes on a clean session.
    """

    domain: Domain
    task: Task
    plan: Plan
    critical: tuple[Sides, ...]
    relevant: tuple[Sides, ...]
    switchable: tuple[Sides, ...]
    needed: Mapping[str, tuple[Path, ...]]
    solved: bool

    @property
    def impossible(self) -> frozenset[str]:
        """The tools that S3 blocks; empty if S3 does not apply to the task."""
        return self._s3[0]

    def passes(self, blocked: frozenset[str]) -> bool:
        """Return whether the plan passes with ``blocked`` tools silent, taking other paths."""
        return solve(self.domain, self.task, self.plan, blocked).success

    def reason(self, scenario: Scenario) -> str:
        """Return why a scenario does not apply to the task; empty if it does."""
        if scenario == "S3":
            return self._s3[1]
        if scenario == "S1" or self.switchable:
            return ""
        if not self.solved:
            return "the gold plan does not pass"
        if not self.relevant:
            return "no fallback class is on the critical path"
        return "no alternative gives all that the plan needs"

    @cached_property
    def _s3(self) -> tuple[frozenset[str], str]:
        """The blocked tools and the reason: the search takes time and few runs need it."""
        domain, task = self.domain, self.task
        if task.forbidden or task.required:
            return frozenset(), "the task is judged by the calls made, not by the state"
        if not self.critical:
            return frozenset(), "no fallback class is on the critical path"
        if not self.solved:
            return frozenset(), "the gold plan does not pass"
        if domain.evaluate(task, domain.session(task, True), (), ()).success:
            return frozenset(), "doing nothing passes"
        blocked = frozenset[str]().union(*(s.primary | s.alternative for s in self.critical))
        writes = frozenset(step.call.name for step in self.plan.steps if step.writes)
        try:
            for tools in (blocked, blocked | writes):
                # The plan holds values that nobody told, which an agent may know all the same.
                if not (self.passes(tools) or search(domain, task, tools)):
                    return tools, ""
        except SearchLimitError:
            return frozenset(), "there is too much to read for a search to end"
        return frozenset(), "the answer can be had from what the user tells"


@dataclass(frozen=True, slots=True)
class Route:
    """How a bare run went: its calls, and whether the task succeeded."""

    calls: tuple[ToolCall, ...]
    success: bool


_KNOWN: dict[Domain, dict[str, Analysis]] = {}


def analyse(domain: Domain, task: Task) -> Analysis:
    """Work out which scenarios a task allows, by execution on bare sessions; cached per domain."""
    known = _KNOWN.setdefault(domain, {})
    found = known.get(task.id)
    if found is None or found.task is not task:
        found = known[task.id] = _analyse(domain, task)
    return found


def _analyse(domain: Domain, task: Task) -> Analysis:
    calls = complete(domain, task)
    plan = build_plan(task, calls, replay(domain, task, calls), specs_of(domain, True))
    called = {step.call.name for step in plan.steps}
    decisive = {step.call.name for step in plan.steps if step.critical}
    critical = tuple(
        Sides(cls.name, frozenset(cls.members) & called, frozenset(cls.members) - called)
        for cls in domain.classes
        if decisive & set(cls.members)
    )
    solved = solve(domain, task, plan, frozenset()).success
    relevant = tuple(
        s for s in critical if not solve(domain, task, plan, s.primary, switch=False).success
    )
    switchable = tuple(
        s for s in relevant if solved and solve(domain, task, plan, s.primary).success
    )
    needed = _needed(domain, plan)
    return Analysis(domain, task, plan, critical, relevant, switchable, needed, solved)


def _needed(domain: Domain, plan: Plan) -> dict[str, tuple[Path, ...]]:
    needed: dict[str, dict[Path, None]] = {spec.name: {} for spec in domain.tools(True)}
    for step in plan.steps:
        needed.setdefault(step.call.name, {}).update(dict.fromkeys(step.needed))
    called = {step.call.name for step in plan.steps}
    for cls in domain.classes:
        if called & set(cls.members):
            for name in set(cls.members) - called:
                needed.pop(name, None)
    return {tool: tuple(paths) for tool, paths in needed.items()}


def solve(
    domain: Domain, task: Task, plan: Plan, blocked: frozenset[str], switch: bool = True
) -> Route:
    """Execute a plan on a bare session whose ``blocked`` tools do not answer.

    Args:
        switch: whether a blocked tool may be replaced along a fallback path.
    """
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    knowledge = Knowledge([task.user.text()])
    results: list[Json] = []
    for index, step in enumerate(plan.steps):
        result: Json = MISSING
        try:
            arguments = resolve(dict(step.arguments), results)
        except MissingValueError:
            arguments = None
        if arguments is not None:
            call = ToolCall(step.call.name, arguments)
            if call.name not in blocked:
                result = parse_result(log.call(call).content)
                knowledge.results.append((call, result))
            elif switch:
                result = _replace(domain, log, call, plan, index, blocked, knowledge)
        results.append(result)
    said = [str(_resolved(output, results)) for output in plan.outputs]
    outcome = domain.evaluate(task, session, log.entries, said)
    return Route(tuple(entry.call for entry in log.entries), outcome.success)


def _resolved(value: object, results: Sequence[Json]) -> Json:
    try:
        return resolve(value, results)
    except MissingValueError:
        return ""


def _replace(
    domain: Domain,
    log: CallLog,
    call: ToolCall,
    plan: Plan,
    index: int,
    blocked: frozenset[str],
    knowledge: Knowledge,
) -> Json:
    for path in paths_from(domain, call.name):
        calls = path.calls(call.arguments, knowledge)
        if not calls or any(c.name in blocked for c in calls):
            continue
        parsed = []
        for c in calls:
            parsed.append(parse_result(log.call(c).content))
            knowledge.results.append((c, parsed[-1]))
        result = path.read(call.arguments, parsed)
        if result is not None and all(
            get(result, p) is not MISSING for p in plan.steps[index].needed
        ):
            return result
    return MISSING


@lru_cache(maxsize=1024)
def paths_from(domain: Domain, tool: str, alternatives: bool = True) -> tuple[FallbackPath, ...]:
    """Return every fallback path that replaces ``tool`` with offered tools, best first."""
    offered = {spec.name for spec in domain.tools(alternatives)}
    paths = [path for cls in domain.classes for path in cls.paths_from(tool)]
    return tuple(path for path in paths if path.target in offered)


@lru_cache(maxsize=64)
def specs_of(domain: Domain, alternatives: bool) -> Mapping[str, ToolSpec]:
    """Return the offered tools by name; shared, not to be changed."""
    return {spec.name: spec for spec in domain.tools(alternatives)}
