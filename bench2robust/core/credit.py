"""Credit for what came by another path: without it, whoever switches loses partial credit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, canonical, parse_result
from bench2robust.core.completion import replay
from bench2robust.core.dataflow import Step
from bench2robust.core.domain import Domain
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import get
from bench2robust.core.solvability import analyse, paths_from, specs_of
from bench2robust.core.types import Task, ToolCall

__all__ = ["stood_in"]

CallKey = tuple[str, str]


def stood_in(domain: Domain, task: Task, executed: Sequence[LogEntry]) -> int:
    """Return how many gold reads were not made, but had their needed fields by another path.

    A path counts if all its calls were executed without an error, and what they returned holds the
    fields that the rest of the plan needs of the gold read, with the same values.

    Args:
        executed: what really ran, with the true results.
    """
    results = {
        _key(e.call): parse_result(e.result.content) for e in executed if not e.result.is_error
    }
    missing = _missing(domain, task, executed)
    if not missing or not results:
        return 0
    known = Knowledge([task.user.text()])
    known.results = [
        (e.call, parse_result(e.result.content)) for e in executed if not e.result.is_error
    ]
    return sum(
        any(
            _delivers(path, step, true, known, results)
            for path in paths_from(domain, step.call.name)
        )
        for step, true in missing
    )


def _missing(domain: Domain, task: Task, executed: Sequence[LogEntry]) -> list[tuple[Step, Json]]:
    """Return the gold reads that were not executed, each with its true result."""
    made = Counter(_key(entry.call) for entry in executed)
    missing = []
    for step, true in _gold_reads(domain, task):
        if made[_key(step.call)]:
            made[_key(step.call)] -= 1
        else:
            missing.append((step, true))
    return missing


def _gold_reads(domain: Domain, task: Task) -> tuple[tuple[Step, Json], ...]:
    plan, specs = analyse(domain, task).plan, specs_of(domain, True)
    steps = {_key(step.call): step for step in plan.steps}
    results = replay(domain, task, task.actions)
    return tuple(
        (steps[_key(call)], true)
        for call, true in zip(task.actions, results, strict=True)
        if call.name in specs and specs[call.name].kind == "read" and _key(call) in steps
    )


def _delivers(
    path: FallbackPath,
    step: Step,
    true: Json,
    known: Knowledge,
    results: Mapping[CallKey, Json],
) -> bool:
    calls = path.calls(step.call.arguments, known)
    if not calls or any(_key(call) not in results for call in calls):
        return False
    answer = path.read(step.call.arguments, [results[_key(call)] for call in calls])
    if answer is None:
        return False
    return all(canonical(get(answer, p)) == canonical(get(true, p)) for p in step.needed)


def _key(call: ToolCall) -> CallKey:
    return call.name, canonical(call.arguments)
