"""The tasks of a run, and what a reader of its results must know about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.core.keyed import uniform
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Task
from bench2robust.evaluation.metrics import JUDGE

__all__ = ["SuiteFacts", "describe_suite", "full_spec", "select_tasks", "suite_notes"]

_SPLITS = ("train", "test", "all")


def full_spec(spec: str, builtin: bool) -> str:
    """Return what :func:`select_tasks` takes: an empty ``spec`` or a number needs a split.

    It is ``test`` for the built-in data and ``all`` for other data.
    """
    default = "test" if builtin else "all"
    if not spec:
        return default
    return f"{default}:{spec}" if spec.partition("@")[0].isdecimal() else spec


def select_tasks(domain: Domain, spec: str) -> tuple[Task, ...]:
    """Return the tasks that ``spec`` names.

    Args:
        spec: ``train``, ``test``, ``all``, one of these followed by ``:N`` for N of them, spread
            evenly, or by ``:N@SEED`` for N of them, drawn by a seed; or task ids, each but the last
            followed by a comma.

    Raises:
        UnknownNameError: a task or split does not exist.
        UsageError: there is no such number of tasks, or one is named twice.
    """
    name, colon, count = spec.rpartition(":")
    count, at, seed = count.partition("@")
    if colon and name in _SPLITS and count.isdecimal() and (seed.isdecimal() or not at):
        tasks = select_tasks(domain, name)
        return _spread(_shuffled(tasks, seed) if at else tasks, count, evenly=not at)
    if spec in _SPLITS:
        tasks = tuple(domain.tasks(None if spec == "all" else spec))
        if not tasks:
            raise UsageError(f"tasks: {domain.name} has no {spec} tasks; use all or task ids.")
        return tasks
    ids = [part.strip() for part in spec.removesuffix(",").split(",")]
    known = {task.id for task in domain.tasks()}
    for task_id in ids:
        if task_id not in known:
            raise UnknownNameError("task or split", task_id, (*_SPLITS, *known))
    if twice := [task_id for task_id, times in Counter(ids).items() if times > 1]:
        raise UsageError(f"tasks holds something twice: {', '.join(twice[:5])}.")
    return tuple(domain.task(task_id) for task_id in ids)


def _shuffled(tasks: Sequence[Task], seed: str) -> Sequence[Task]:
    return sorted(tasks, key=lambda task: uniform("sample", seed, task.id))


def _spread(tasks: Sequence[Task], digits: str, evenly: bool) -> tuple[Task, ...]:
    # Python refuses to read very many digits.
    count = int(digits) if len(digits) < 20 else -1
    if not 1 <= count <= len(tasks):
        raise UsageError(f"tasks: {shown(digits)} were asked for; there are {len(tasks)}.")
    return tuple(tasks[i * len(tasks) // count if evenly else i] for i in range(count))


class SuiteFacts(NamedTuple):
    """Facts about a selection of tasks.

    Attributes:
        splits: tasks by split.
        intents: tasks by intent.
        flags: tasks by flag (known oddities).
        literals: argument leaves of the gold calls that stay literal in the dataflow plans, and
            all leaves: how much of the plans an agent does not have to observe.
    """

    tasks: int
    splits: Counter[str]
    intents: Counter[str]
    flags: Counter[str]
    literals: tuple[int, int]


def describe_suite(domain: Domain, tasks: Sequence[Task]) -> SuiteFacts:
    """Count what is in ``tasks``; builds their plans."""
    counts = [analyse(domain, task).plan.literals for task in tasks]
    return SuiteFacts(
        tasks=len(tasks),
        splits=Counter(task.split for task in tasks),
        intents=Counter(task.intent for task in tasks),
        flags=Counter(flag for task in tasks for flag in task.flags),
        literals=(sum(n for n, _ in counts), sum(n for _, n in counts)),
    )


def suite_notes(domain: Domain, facts: SuiteFacts) -> tuple[str, ...]:
    """Return the remarks that accompany every result on these tasks, the domain's own last."""
    literal, leaves = facts.literals
    share = f"{literal} of {leaves} ({literal / max(1, leaves):.0%})"
    notes = [f"{share} gold argument values are literal: told or constant; results give the rest."]
    if judged := facts.flags.get(JUDGE, 0):
        notes.append(f"{judged} of {facts.tasks} tasks need a judge and are reported apart.")
    notes += [
        f"{count} of {facts.tasks} tasks are flagged {flag}."
        for flag, count in sorted(facts.flags.items())
        if flag != JUDGE
    ]
    return (*notes, *domain.notes)
