"""The tasks of a τ²-bench retail folder, and the extra fields of Retail-3I."""

from __future__ import annotations

import re
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import Task, ToolCall, UserScript
from bench2robust.domains.files import field, items
from bench2robust.domains.retail.mentions import mentions

__all__ = ["USUAL_BASIS", "read_tasks"]

USUAL_BASIS = ["DB", "COMMUNICATE"]
"""What the reward of a task is made of that does not say it."""

_INTENT = re.compile(r"(general|ambiguous|changing|infeasible)")
_ABOUT_NAME = re.compile(r"\bname\b|\b[Yy]ou are [A-Z]")


def read_tasks(raw: Json, splits: Json, where: str) -> tuple[Task, ...]:
    """Return the tasks of ``tasks.json``, each in its split of ``split_tasks.json``.

    Args:
        raw: the parsed task file, a list of tasks.
        splits: the parsed split file: ``train`` and ``test`` to lists of task ids.
        where: the folder, for error texts.

    Raises:
        DataError: a field is missing or of the wrong kind, or a task is in no split.
    """
    if not isinstance(raw, list):
        raise DataError(f"{where}/tasks.json must be a list of tasks, not {type(raw).__name__}")
    split_of = _splits(splits, f"{where}/split_tasks.json")
    tasks = tuple(_task(t, f"{where}/tasks.json: task {i}", split_of) for i, t in enumerate(raw))
    unknown = split_of.keys() - {task.id for task in tasks}
    if unknown:
        raise DataError(
            f"{where}/split_tasks.json lists task {min(unknown)!r}, which tasks.json lacks: "
            "restore the task or take its id out"
        )
    return tasks


def _splits(splits: Json, where: str) -> dict[str, str]:
    split_of: dict[str, str] = {}
    for split in ("train", "test"):
        for member, at in items(splits, split, where):
            if not isinstance(member, str):
                raise DataError(f"{at} must be a task id as text, not {member!r}")
            if member in split_of:
                raise DataError(f"{at}: task {member!r} is listed twice")
            split_of[member] = split
    return split_of


def _task(raw: Any, where: str, split_of: dict[str, str]) -> Task:
    task_id = field(raw, "id", str, where)
    where = f"{where} (id {task_id!r})"
    if task_id not in split_of:
        raise DataError(f"{where} is neither in 'train' nor in 'test' of split_tasks.json")
    scenario = field(raw, "user_scenario", dict, where)
    criteria = field(raw, "evaluation_criteria", dict, where)
    at = f"{where}.evaluation_criteria"
    basis = field(criteria, "reward_basis", list, at, optional=True) or USUAL_BASIS
    outputs = items(criteria, "communicate_info", at, optional="COMMUNICATE" not in basis)
    judged = field(criteria, "nl_assertions", list, at, optional=True)
    script = scenario.get("instructions")
    extra = script if isinstance(script, dict) else {}
    forbidden = _calls(extra, "actions_should_not_taken", "tool_name", where)
    required = _calls(extra, "actions_should_be_taken", "tool_name", where)
    reason = field(extra, "infeasible_reason", str, where, optional=True)
    return Task(
        id=task_id,
        split=split_of[task_id],
        intent="infeasible" if reason or forbidden or required else _intent(task_id),
        user=_user(scenario, f"{where}.user_scenario"),
        actions=_calls(criteria, "actions", "name", at),
        outputs=tuple(str(text) for text, _ in outputs) if "COMMUNICATE" in basis else (),
        flags=("needs_judge",) if judged and "NL_ASSERTION" in basis else (),
        forbidden=forbidden,
        required=required,
        infeasible_reason=reason,
    )


def _intent(task_id: str) -> str:
    # Retail-3I tells the kind of a task in its id, such as general_traj_0761.
    found = _INTENT.match(task_id)
    return found.group() if found else "plain"


def _calls(holder: Any, name: str, key: str, where: str) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(field(call, key, str, at), field(call, "arguments", dict, at, optional=True))
        for call, at in items(holder, name, where, optional=True)
    )


def _user(scenario: Any, where: str) -> UserScript:
    persona = field(scenario, "persona", str, where, optional=True)
    if isinstance(scenario.get("instructions"), str):
        text = scenario["instructions"]
        return UserScript(opening=text, instructions=_lines(persona, text))
    script = field(scenario, "instructions", dict, where)
    at = f"{where}.instructions"
    reason = field(script, "reason_for_call", str, at)
    known = field(script, "known_info", str, at, optional=True)
    unknown = field(script, "unknown_info", str, at, optional=True)
    manner = field(script, "task_instructions", str, at, optional=True).strip(" .")
    return UserScript(
        opening=_lines(known, reason),
        facts=_facts(reason, known, unknown, manner),
        instructions=_lines(persona, reason, known, unknown, manner),
    )


def _facts(reason: str, known: str, unknown: str, manner: str) -> dict[str, str]:
    """Sort what the scenario says by the topics that an agent asks about."""
    told = mentions(known)
    facts = {
        "name": known if _ABOUT_NAME.search(known) else "",
        "email": known if told.emails else unknown if "email" in unknown else "",
        "zip": known if told.zips else "",
        "order": reason if mentions(reason).order_ids else "",
        "user_id": known if told.user_ids else "",
        "details": manner,
    }
    return {topic: text for topic, text in facts.items() if text}


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
