"""Clauses on sessions: fresh, private, deterministic, and honest about what changed."""

from __future__ import annotations

import orjson

from bench2robust.core.errors import shown
from bench2robust.core.types import ToolCall
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Run, Sample, make, take

__all__ = ["determinism", "fresh", "isolation", "reads", "state"]


def fresh(sample: Sample, check: Check) -> None:
    """A fresh session differs from the start in nothing."""
    for task in sample.tasks:
        for alternatives in (False, True):
            delta = sample.domain.session(task, alternatives).delta()
            check(delta == {}, f"task {task.id}: the delta is {shown(delta)}")


def isolation(sample: Sample, check: Check) -> None:
    """What happens in one session is seen in no other, nor through the caller's own objects."""
    for run in sample.runs:
        task = run.task
        witness = sample.domain.session(task, True)
        other = sample.domain.session(task, True)
        for step in run.steps:
            arguments = orjson.loads(orjson.dumps(step.call.arguments))
            make(other, ToolCall(step.call.name, arguments))
            _spoil(arguments)
        check(other.delta() == run.session.delta(),
              f"task {task.id}: an argument object changed after the call changes the "
              "state")  # fmt: skip
        check(witness.delta() == {}, f"task {task.id}: another session's calls are seen")
        again = sample.run(task)
        check(_same(again, run), f"task {task.id}: a session after another goes differently")
        _spoil(other.delta())
        check(other.delta() == run.session.delta(),
              f"task {task.id}: the state changes with what delta() returned")  # fmt: skip


def _spoil(value: object) -> None:
    """Empty every list and object in a value that is the caller's own."""
    if isinstance(value, dict):
        for item in value.values():
            _spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.clear()


def determinism(sample: Sample, check: Check) -> None:
    """The same calls give the same results, revisions and states."""
    for run in sample.runs:
        again = sample.run(run.task)
        for first, second in zip(run.steps, again.steps, strict=True):
            check(first == second,
                  f"task {run.task.id}: {first.call.name} gave {first.result.content[:80]!r}, then "
                  f"{second.result.content[:80]!r}, or left another state")  # fmt: skip
        check(run.outcome == again.outcome, f"task {run.task.id}: two verdicts on equal runs")


def _same(a: Run, b: Run) -> bool:
    return a.steps == b.steps and a.outcome == b.outcome


def reads(sample: Sample, check: Check) -> None:
    """Only tools of kind write change anything."""
    steps = [step for run in sample.runs for step in run.steps]
    for task in sample.tasks[:5]:
        session = sample.domain.session(task, True)
        steps += [take(session, call) for call in sample.probes(task.user.text())]
    for step in steps:
        spec = sample.specs.get(step.call.name)
        if spec is not None and spec.kind != "write":
            same = step.deltas[0] == step.deltas[1] and step.revisions[0] == step.revisions[1]
            check(same, f"{spec.name} is of kind {spec.kind} and changes the state")


def state(sample: Sample, check: Check) -> None:
    """The revision rises when, and only when, the state changes; a delta is JSON by record."""
    for run in sample.runs:
        for step in run.steps:
            name = step.call.name
            before, after = step.revisions
            check(after >= before, f"{name}: the revision fell from {before} to {after}")
            if step.deltas[0] != step.deltas[1]:
                check(after > before, f"{name} changed the state and the revision did not rise")
            elif after > before:
                # A change may end where it began only if some record had changed before.
                check(step.deltas[0] != {}, f"{name} raised the revision and nothing changed")
        for key, text in run.session.delta().items():
            check(isinstance(key, str) and isinstance(text, str) and _is_json(text),
                  f"delta[{key!r}] is {shown(text)}, no JSON text")  # fmt: skip


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
