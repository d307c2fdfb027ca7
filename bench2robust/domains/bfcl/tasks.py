"""From BFCL's entries and gold answers to tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import Task, ToolCall, UserScript
from bench2robust.domains.bfcl.calls import read_call
from bench2robust.domains.bfcl.package import CLASSES
from bench2robust.domains.files import field, read_text
from bench2robust.domains.guard import reading

__all__ = ["CATEGORIES", "Entry", "read_entries", "read_lines"]

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
"""The multi-turn categories: plain; a function, or a parameter, that comes later; long results."""


class Entry(NamedTuple):
    """One entry of the benchmark.

    Attributes:
        raw: as it stands in the file, for the benchmark's own checker.
        gold: its gold answer: the texts of the calls of each turn.
        classes: names of the classes that it involves.
        held: by tool, the turn that it comes with.
    """

    task: Task
    raw: Mapping[str, Any]
    gold: Sequence[Sequence[str]]
    classes: tuple[str, ...]
    held: Mapping[str, int]

    @property
    def long_context(self) -> bool:
        """Whether the tools of this entry return long results."""
        return self.task.intent == "long_context"


def read_lines(file: Path) -> list[tuple[Json, str]]:
    """Return the JSON value of each line, with what an error calls it.

    Raises:
        DataError: the file is missing, or a line is no JSON.
    """
    rows = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if line.strip():
            try:
                rows.append((orjson.loads(line), f"{file}, line {number}"))
            except orjson.JSONDecodeError as error:
                raise DataError(f"{file}, line {number} is not valid JSON: {error}") from None
    return rows


def read_entries(
    folder: Path, category: str, parameters: Mapping[str, Mapping[str, Sequence[str]]], more: str
) -> list[Entry]:
    """Read a category.

    Args:
        folder: where the package has its data.
        parameters: by class and tool, the names of its parameters.
        more: what the user says when a turn only brings further functions.

    Raises:
        DataError: a file is missing or damaged; the text names the line and the field.
    """
    name = f"BFCL_v4_multi_turn_{category}.json"
    answers = {
        field(row, "id", str, where): field(row, "ground_truth", list, where)
        for row, where in read_lines(folder / "possible_answer" / name)
    }
    entries = []
    for row, where in read_lines(folder / name):
        with reading(where):
            entries.append(_entry(row, where, answers, category, parameters, more))
    return entries


def _entry(
    row: Json,
    where: str,
    answers: Mapping[str, Sequence[Sequence[str]]],
    category: str,
    parameters: Mapping[str, Mapping[str, Sequence[str]]],
    more: str,
) -> Entry:
    task_id = field(row, "id", str, where)
    classes = tuple(map(str, field(row, "involved_classes", list, where)))
    if unknown := [name for name in classes if name not in CLASSES]:
        raise DataError(f"{where}.involved_classes holds {unknown}; known: {', '.join(CLASSES)}")
    field(row, "initial_config", dict, where)
    said = [_said(turn, more, where) for turn in field(row, "question", list, where)]
    gold = answers.get(task_id, ())
    if len(gold) != len(said) or not said or not all(isinstance(turn, list) for turn in gold):
        raise DataError(
            f"{where}: {task_id} needs a list of gold calls for each of its {len(said)} turns"
        )
    known = {tool: names for name in classes for tool, names in parameters[name].items()}
    calls = [(_gold(text, known, where), turn) for turn, of in enumerate(gold) for text in of]
    missed: Json = field(row, "missed_function", dict, where, optional=True)
    task = Task(
        task_id,
        "test",
        category,
        UserScript(said[0], instructions="\n".join(said), turns=tuple(said[1:])),
        tuple(call for call, _ in calls),
        turns=tuple(turn for _, turn in calls),
        informed=True,
    )
    held = {tool: int(turn) for turn, tools in missed.items() for tool in tools}
    return Entry(task, row, gold, classes, held)


def _said(turn: Json, more: str, where: str) -> str:
    if not isinstance(turn, list):
        raise DataError(f"{where}.question must hold a list of messages for each turn")
    return "\n".join(field(message, "content", str, where) for message in turn) or more


def _gold(text: Json, known: Mapping[str, Sequence[str]], where: str) -> ToolCall:
    try:
        return read_call(str(text), known)
    except ValueError as error:
        raise DataError(f"{where}: a gold call cannot be read: {error}") from None
