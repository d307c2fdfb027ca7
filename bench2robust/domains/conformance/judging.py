"""Clauses on the verdict: the gold calls pass, idleness does not, and the live state decides."""

from __future__ import annotations

from bench2robust.core.solvability import analyse
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Run, Sample

__all__ = ["gold", "idle", "live_state", "plan", "told"]

IDLE = "nothing_passes"
"""The flag of a task that doing nothing passes."""


def gold(sample: Sample, check: Check) -> None:
    """The gold calls work and pass, or the task is flagged; all are found in the log."""
    for run in sample.runs:
        if run.task.flags:
            continue
        outcome, at = run.outcome, f"task {run.task.id}"
        for step in run.steps:
            check(not step.result.is_error,
                  f"{at}: gold call {step.call.name} says {step.result.content[:80]!r}, and no "
                  "flag says so")  # fmt: skip
        check(outcome.success, f"{at}: the gold calls do not pass, and no flag says so")
        check(outcome.matched == outcome.required == len(run.task.actions),
              f"{at}: {outcome.matched} gold calls matched of {outcome.required}, "
              f"{len(run.task.actions)} were made")  # fmt: skip


def live_state(sample: Sample, check: Check) -> None:
    """The verdict looks at the live state: a log of calls that never ran is worth nothing."""
    for run in _passed(sample):
        task = run.task
        if task.forbidden or task.required or not run.session.delta():
            continue  # judged by the calls made, or nothing to change
        idle_session = sample.domain.session(task, True)
        if sample.domain.evaluate(task, idle_session, (), ()).state:
            continue  # what the gold calls change is no part of the task's criterion
        claimed = sample.domain.evaluate(task, idle_session, run.entries, task.outputs)
        check(not claimed.success and not claimed.state,
              f"task {task.id} passes on a log alone, with nothing done")  # fmt: skip
        silent = sample.domain.evaluate(task, run.session, (), task.outputs)
        check(silent.state, f"task {task.id}: the state is judged by the log, not by the session")


def idle(sample: Sample, check: Check) -> None:
    """Doing nothing does not pass, or the task is flagged nothing_passes."""
    for task in sample.tasks:
        outcome = sample.domain.evaluate(task, sample.domain.session(task), (), ())
        check(not outcome.success or IDLE in task.flags,
              f"task {task.id}: doing nothing passes, and no flag {IDLE} says so")  # fmt: skip


def told(sample: Sample, check: Check) -> None:
    """What must be told decides: the gold calls in silence do not pass."""
    for run in _passed(sample):
        task = run.task
        if task.outputs and not (task.forbidden or task.required):
            outcome = sample.domain.evaluate(task, run.session, run.entries, ("Good day.",))
            check(not outcome.success and not outcome.communicated,
                  f"task {task.id} passes though it was not told {task.outputs!r:.80}")  # fmt: skip


def plan(sample: Sample, check: Check) -> None:
    """The dataflow plan of a task that its gold calls pass, passes too."""
    for run in _passed(sample):
        if not run.task.flags and run.task.actions:
            check(analyse(sample.domain, run.task).solved,
                  f"task {run.task.id}: the plan made of the gold calls does not pass")  # fmt: skip


def _passed(sample: Sample) -> list[Run]:
    return [run for run in sample.runs if run.outcome.success]
