"""The tasks of a τ²-bench domain: what our tasks hold, and what only its evaluation needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import Task
from bench2robust.domains.files import field, items
from bench2robust.domains.retail.tau2 import USUAL_BASIS, read_tasks

__all__ = ["Case", "read_cases"]

_BASIS = {"DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"}


class Case(NamedTuple):
    """A task, and the rest of what τ²-bench says about it.

    Attributes:
        initial: the parsed ``initial_state``; empty where every task starts alike.
        basis: what the reward is the product of: ``DB``, ``ENV_ASSERTION``, ``ACTION``,
            ``COMMUNICATE`` (the last is judged from the task's ``outputs``).
        assertions: the parsed ``env_assertions``.
    """

    task: Task
    initial: Mapping[str, Any]
    basis: frozenset[str]
    assertions: tuple[Mapping[str, Any], ...]


def read_cases(raw: Json, splits: Json, where: str) -> tuple[Case, ...]:
    """Return the tasks of the base split: those of ``train`` and of ``test``.

    Args:
        raw: the parsed task file.
        splits: the parsed split file.
        where: the folder, for error texts.

    Raises:
        DataError: a field is missing or of the wrong kind.
    """
    if not isinstance(raw, list):
        raise DataError(f"{where}/tasks.json must be a list of tasks, not {type(raw).__name__}")
    base = {
        member
        for split in ("train", "test")
        for member, _ in items(splits, split, f"{where}/split_tasks.json")
        if isinstance(member, str)
    }
    # Telecom's file holds 2,285 tasks, of which 114 are the benchmark.
    wanted = [t for t in raw if not isinstance(t, dict) or t.get("id") in base]
    tasks = read_tasks(wanted, splits, where)
    return tuple(
        _case(task, one, f"{where}/tasks.json: task {task.id!r}")
        for task, one in zip(tasks, wanted, strict=True)
    )


def _case(task: Task, raw: Mapping[str, Any], where: str) -> Case:
    criteria = field(raw, "evaluation_criteria", dict, where)
    at = f"{where}.evaluation_criteria"
    basis = field(criteria, "reward_basis", list, at, optional=True) or USUAL_BASIS
    unknown = [part for part in basis if part not in _BASIS]
    if unknown:
        known = ", ".join(sorted(_BASIS))
        raise DataError(f"{at}.reward_basis holds {unknown[0]!r}; known: {known}")
    assertions = items(criteria, "env_assertions", at, optional=True)
    initial = field(raw, "initial_state", dict, where, optional=True)
    for assertion, place in assertions:
        field(assertion, "func_name", str, place)
    return Case(task, initial, frozenset(basis), tuple(a for a, _ in assertions))
