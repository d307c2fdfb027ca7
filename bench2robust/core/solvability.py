"""What blocking does to a task: the classes it needs, the switches that work, the impossible.

Everything here runs on bare sessions, without noise: the answers depend on the task alone and are
computed once per task. The proofs of single (task, scenario, seed) cells, with their noise, are in
``evaluation.certificates``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from bench2robust.core.backend import CallLog
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.dataflow import (
    NUMBER,
    MissingValueError,
    Plan,
    build_plan,
    resolve,
    was_told,
)
from bench2robust.core.domain import Domain
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import MISSING, Path, get, leaves
from bench2robust.core.types import Task, ToolCall

__all__ = ["Analysis", "Route", "Sides", "analyse", "search", "solve"]

_SEARCH_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a fallback class for one task: the tools its plan calls, and the rest."""

    name: str
    primary: frozenset[str]
    alternative: frozenset[str]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one task allows (section 2.1).

    Attributes:
        plan: the task's dataflow plan.
        relevant: classes whose primary side the plan cannot do without.
        switchable: the relevant classes whose open side, with the primary blocked, still leads to
            success; S2 chooses among these.
        impossible: the tools that S3 blocks; empty if S3 does not apply to the task.
        reasons: why S2 or S3 does not apply, by scenario.
        needed: by tool of the plan, the result paths that the plan reads.
    """

    plan: Plan
    relevant: tuple[Sides, ...]
    switchable: tuple[Sides, ...]
    impossible: frozenset[str]
    reasons: Mapping[str, str]
    needed: Mapping[str, tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Route:
    """How a bare run went: its calls, and whether the task succeeded."""

    calls: tuple[ToolCall, ...]
    success: bool


_KNOWN: WeakKeyDictionary[Domain, dict[str, Analysis]] = WeakKeyDictionary()


def analyse(domain: Domain, task: Task) -> Analysis:
    """Work out which scenarios a task allows, by execution on bare sessions; cached per domain."""
    known = _KNOWN.setdefault(domain, {})
    if task.id not in known:
        known[task.id] = _analyse(domain, task)
    return known[task.id]


def _analyse(domain: Domain, task: Task) -> Analysis:
    specs = {spec.name: spec for spec in domain.tools(alternatives=True)}
    plan = build_plan(task, domain.gold_results(task), specs)
    called = {step.call.name for step in plan.steps}
    critical = {step.call.name for step in plan.steps if step.critical}
    relevant = []
    for cls in domain.classes:
        members = frozenset(cls.members)
        if members & critical:
            relevant.append(Sides(cls.name, members & called, members - called))
    solved = solve(domain, task, plan, frozenset()).success
    needed = [s for s in relevant if not _stuck(domain, task, plan, s)]
    switchable = tuple(
        s for s in needed if solved and solve(domain, task, plan, s.primary).success
    )
    impossible, why = _impossible(domain, task, relevant, solved)
    reasons = {}
    if not switchable:
        reasons["S2"] = (
            "the gold plan does not pass" if not solved
            else "no fallback class is on the critical path" if not needed
            else "no alternative gives all that the plan needs"
        )
    if not impossible:
        reasons["S3"] = why
    return Analysis(plan, tuple(needed), switchable, impossible, reasons, _needed(plan))


def _needed(plan: Plan) -> dict[str, tuple[Path, ...]]:
    needed: dict[str, dict[Path, None]] = {}
    for step in plan.steps:
        needed.setdefault(step.call.name, {}).update(dict.fromkeys(step.needed))
    return {tool: tuple(paths) for tool, paths in needed.items()}


def _stuck(domain: Domain, task: Task, plan: Plan, sides: Sides) -> bool:
    """True if the plan passes although the primary side is blocked and nothing replaces it."""
    return solve(domain, task, plan, sides.primary, switch=False).success


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


def paths_from(domain: Domain, tool: str) -> list[FallbackPath]:
    """Return every fallback path that replaces ``tool``, best first."""
    return [path for cls in domain.classes for path in cls.paths_from(tool)]


def _impossible(
    domain: Domain, task: Task, relevant: Sequence[Sides], solved: bool
) -> tuple[frozenset[str], str]:
    if task.forbidden or task.required:
        return frozenset(), "the task is judged by the calls made, not by the state"
    if not relevant:
        return frozenset(), "no fallback class is on the critical path"
    if not solved:
        return frozenset(), "the gold plan does not pass"
    session = domain.session(task, alternatives=True)
    if domain.evaluate(task, session, (), ()).success:
        return frozenset(), "doing nothing passes"
    blocked = frozenset().union(*(s.primary | s.alternative for s in relevant))
    if search(domain, task, blocked):
        specs = {spec.name: spec for spec in domain.tools(alternatives=True)}
        writes = {c.name for c in task.actions if c.name in specs and specs[c.name].kind == "write"}
        blocked |= writes
        if search(domain, task, blocked):
            return frozenset(), "the answer can be had from what the user tells"
    return blocked, ""


def search(domain: Domain, task: Task, blocked: frozenset[str]) -> bool:
    """Look for a success with ``blocked`` tools silent, using only told and observed values.

    Bounded: every read call that can be formed from what the user tells and from what earlier
    rounds observed is made, for a few rounds; then every gold call whose values are all known is
    made, and every known output is said. Returns whether that passes.
    """
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    known = task.user.text()
    made: set[str] = set()
    for _ in range(_SEARCH_ROUNDS):
        found = []
        for call in domain.probes(known, blocked):
            key = repr(call)
            if key not in made:
                made.add(key)
                result = log.call(call)
                if not result.is_error:
                    found.append(result.content)
        if not found:
            break
        known = "\n".join((known, *found))
    for call in task.actions:
        if call.name not in blocked and all(_known(known, v) for _, v in leaves(call.arguments)):
            known = "\n".join((known, log.call(call).content))
    said = [text for text in task.outputs if was_told(known, text)]
    return domain.evaluate(task, session, log.entries, said).success


_EXPRESSION = re.compile(r"[\d\s.()+*/-]+")


def _known(text: str, leaf: Json) -> bool:
    """Whether a value stands in ``text``; an expression is known when its numbers are."""
    if was_told(text, leaf):
        return True
    if isinstance(leaf, str) and _EXPRESSION.fullmatch(leaf):
        return all(was_told(text, n) for n in NUMBER.findall(leaf))
    return False

