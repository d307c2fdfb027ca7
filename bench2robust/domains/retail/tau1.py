"""The test tasks of τ-bench v1 retail."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import Task, ToolCall, UserScript
from bench2robust.domains.files import field, items

__all__ = ["read_tasks"]


def read_tasks(raw: Json, where: str) -> tuple[Task, ...]:
    """Return the tasks of ``tasks_test.json``; their ids are their positions.

    Raises:
        DataError: a field is missing or of the wrong kind.
    """
    if not isinstance(raw, list):
        raise DataError(f"{where} must be a list of tasks, not {type(raw).__name__}")
    return tuple(_task(str(i), task, f"{where}: task {i}") for i, task in enumerate(raw))


def _task(task_id: str, raw: Json, where: str) -> Task:
    text = field(raw, "instruction", str, where)
    return Task(
        id=task_id,
        split="test",
        intent="plain",
        user=UserScript(opening=text, instructions=text),
        actions=tuple(
            ToolCall(field(call, "name", str, at), field(call, "kwargs", dict, at))
            for call, at in items(raw, "actions", where)
        ),
        outputs=tuple(str(text) for text, _ in items(raw, "outputs", where)),
    )
