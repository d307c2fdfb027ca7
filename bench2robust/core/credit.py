"""Credit for what came by another path: without it, whoever switches loses partial credit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

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
    missing = _missing(domain, task, executed)
    tools = {entry.call.name for entry in executed}
    # A path begins or ends with its target, so without that call it was not taken.
    taken = [[p for p in paths_from(domain, s.call.name) if p.target in tools] for s, _ in missing]
    if not any(taken):
        return 0
    known = Knowledge([task.user.text()])
    known.results = [
        (e.call, parse_result(e.result.content)) for e in executed if not e.result.is_error
    ]
    results = {_key(call): result for call, result in known.results}
    return sum(
        any(_delivers(path, step, true, known, results) for path in paths)
        for paths, (step, true) in zip(taken, missing, strict=True)
    )


class _Read(NamedTuple):
    key: CallKey
    step: Step
    true: Json


_READS: dict[Domain, dict[str, tuple[Task, tuple[_Read, ...]]]] = {}


def _missing(domain: Domain, task: Task, executed: Sequence[LogEntry]) -> list[tuple[Step, Json]]:
    """Return the gold reads that were not executed, each with its true result."""
    made = Counter(_key(entry.call) for entry in executed)
    missing = []
    for key, step, true in _gold_reads(domain, task):
        if made[key]:
            made[key] -= 1
        else:
            missing.append((step, true))
    return missing


def _gold_reads(domain: Domain, task: Task) -> tuple[_Read, ...]:
    """Return the reads among a task's gold calls with their true results; cached per domain."""
    known = _READS.setdefault(domain, {})
    found = known.get(task.id)
    if found is None or found[0] is not task:
        found = known[task.id] = (task, tuple(_true_reads(domain, task)))
    return found[1]


def _true_reads(domain: Domain, task: Task) -> Iterator[_Read]:
    plan, specs = analyse(domain, task).plan, specs_of(domain, True)
    steps = {_key(step.call): step for step in plan.steps}
    results = replay(domain, task, task.actions)
    for call, true in zip(task.actions, results, strict=True):
        key = _key(call)
        if call.name in specs and specs[call.name].kind == "read" and key in steps:
            yield _Read(key, steps[key], true)


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
