"""ToolMaze's tasks: ``data/perturbed_tasks/c1 … c4/*.json``, five levels of each base task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolCall
from bench2robust.domains.files import field, items, read_json

__all__ = ["Case", "Trace", "Variant", "read_cases"]

_ID = re.compile(r"(.+)_(P[0-4])")


class Trace(NamedTuple):
    """One call of a recorded path: what came back, and whether that is the perturbed answer."""

    call: ToolCall
    output: Json
    perturbed: bool


class Variant(NamedTuple):
    """One level of a task.

    Attributes:
        level: ``P0`` (clean) to ``P4``.
        paths: the recorded paths, each a way to the goal.
        alternatives: tools that the task lists as alternatives.
    """

    level: str
    paths: tuple[tuple[Trace, ...], ...]
    alternatives: tuple[str, ...]

    @property
    def victim(self) -> str:
        """The tool whose answer is perturbed; empty where none is."""
        return next((t.call.name for path in self.paths for t in path if t.perturbed), "")


class Case(NamedTuple):
    """A base task with its levels."""

    id: str
    complexity: str
    query: str
    expected: Json
    levels: dict[str, Variant]

    @property
    def clean(self) -> Variant:
        """The level without perturbation, which holds the true outputs."""
        return self.levels["P0"]


def read_cases(folder: Path) -> list[Case]:
    """Return the base tasks, in the order of their files.

    Raises:
        DataError: there are none, a file is damaged, or a base task lacks its level P0.
    """
    cases: dict[str, Case] = {}
    for file in sorted(folder.glob("c[1-4]/*.json")):
        for raw, where in _entries(file):
            base, level = _split(field(raw, "task_id", str, where), where)
            case = cases.setdefault(base, _case(base, raw, where))
            if level in case.levels:
                raise DataError(f"{where}.task_id: {base}_{level} is there twice")
            case.levels[level] = _variant(level, raw, where)
    if not cases:
        raise DataError(f"{folder} has no c1/*.json … c4/*.json: copy ToolMaze's tasks there")
    for case in cases.values():
        if "P0" not in case.levels:
            raise DataError(
                f"{folder}: task {case.id} has no level P0, so its true outputs are unknown: "
                f"restore {case.id}_P0"
            )
    return list(cases.values())


def _entries(file: Path) -> Iterator[tuple[Any, str]]:
    raw = read_json(file)
    if isinstance(raw, list):
        yield from ((entry, f"{file}[{index}]") for index, entry in enumerate(raw))
    else:
        yield raw, str(file)


def _split(task_id: str, where: str) -> tuple[str, str]:
    found = _ID.fullmatch(task_id)
    if not found:
        raise DataError(f"{where}.task_id is {task_id!r}, not one such as 'C1_task_001_P0'")
    return found.group(1), found.group(2)


def _case(base: str, raw: Any, where: str) -> Case:
    asked = field(raw, "user_input", dict, where)
    return Case(
        base,
        field(raw, "complexity", str, where, optional=True) or base[:2],
        field(asked, "query", str, f"{where}.user_input"),
        raw.get("expected_result"),
        {},
    )


def _variant(level: str, raw: Any, where: str) -> Variant:
    if raw.get("execution_trace") is not None:
        paths = [_path(raw, where)]
    else:
        paths = [_path(path, at) for path, at in items(raw, "valid_paths", where)]
    if not all(paths):
        raise DataError(f"{where} has a path without a call")
    named = items(raw, "alternative_tools", where, optional=True)
    return Variant(level, tuple(paths), tuple(str(name) for name, _ in named))


def _path(raw: Any, where: str) -> tuple[Trace, ...]:
    return tuple(_trace(step, at) for step, at in items(raw, "execution_trace", where))


def _trace(raw: Any, where: str) -> Trace:
    name = field(raw, "tool_name", str, where)
    arguments = field(raw, "arguments", dict, where, optional=True)
    if "output" not in raw:
        raise DataError(f"{where} has no field 'output'")
    return Trace(ToolCall(name, arguments), raw["output"], bool(raw.get("is_perturbed")))
