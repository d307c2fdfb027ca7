"""ToolMaze's tools and alternatives, from ``tools/definitions/*.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolKind
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.domains.files import field, items, read_text

__all__ = ["KINDS", "Group", "Tool", "read_groups", "read_tools"]

KINDS: Mapping[str, ToolKind] = {"Source": "read", "Processor": "read", "Action": "write"}
"""ToolMaze's categories, and what they are here: only an action changes something."""

_FILES = ("source.yaml", "processor.yaml", "action.yaml")

Group = tuple[tuple[str, ...], ...]
"""The ways that give one result: each the tools to call, in order."""


class Tool:
    """One tool definition.

    Attributes:
        substitutes: the tools that ``substitutes`` of the definition names.
        parameters: JSON Schema of the arguments.
    """

    def __init__(self, raw: Any, where: str) -> None:
        category = field(raw, "category", str, where)
        if category not in KINDS:
            known = ", ".join(KINDS)
            raise DataError(f"{where}.category is {category!r}, none of {known}")
        self.name: str = field(raw, "name", str, where)
        self.kind = KINDS[category]
        paradigms = field(raw, "paradigms", dict, where)
        call = field(paradigms, "function_call", dict, f"{where}.paradigms")
        spec = field(call, "spec", dict, f"{where}.paradigms.function_call")
        at = f"{where}.paradigms.function_call.spec"
        told = field(spec, "description", str, at, optional=True)
        self.description: str = told or field(raw, "description", str, where, optional=True)
        self.parameters: dict[str, Any] = _schema(
            field(spec, "parameters", dict, at, optional=True)
        )
        self.substitutes = _names(raw, "substitutes", where)

    @property
    def required(self) -> list[str]:
        """Names of the parameters that must be given."""
        required: list[str] = self.parameters["required"]
        return required


def _schema(raw: dict[str, Any]) -> dict[str, Any]:
    properties = raw.get("properties") or {}
    required = [name for name in raw.get("required") or () if name in properties]
    return {**raw, "type": "object", "properties": properties, "required": required}


def _names(raw: Any, key: str, where: str) -> tuple[str, ...]:
    named = items(raw, key, where, optional=True)
    for name, at in named:
        if not isinstance(name, str):
            raise DataError(f"{at} must be the name of a tool, not {name!r}")
    return tuple(name for name, _ in named)


def read_tools(folder: Path) -> dict[str, Tool]:
    """Return every tool by name.

    A file holds a list of tools, alone or under ``tools``.

    Raises:
        DataError: a file is missing or damaged, or a name is taken twice.
    """
    tools: dict[str, Tool] = {}
    for file in (folder / name for name in _FILES):
        raw = _yaml(file)
        listed = raw if isinstance(raw, list) else field(raw, "tools", list, str(file))
        for index, entry in enumerate(listed):
            tool = Tool(entry, f"{file}[{index}]")
            if tool.name in tools:
                raise DataError(f"{file}[{index}].name {tool.name!r} is taken: rename the tool")
            tools[tool.name] = tool
    return tools


def read_groups(folder: Path, tools: Mapping[str, Tool]) -> dict[str, Group]:
    """Return the groups of alternatives by id: those of ``alternatives.yaml``, and substitutes.

    Raises:
        DataError: the file is damaged, or names a tool that is not defined.
    """
    groups: dict[str, Group] = {}
    file = folder / "alternatives.yaml"
    if file.exists():
        raw = field(_yaml(file), "alternatives", dict, str(file))
        for shape in ("one_to_one", "one_to_many", "many_to_many"):
            listed = field(raw, shape, dict, f"{file}: alternatives", optional=True)
            for key, entry in listed.items():
                groups[str(key)] = _group(entry, f"{file}: {shape}.{key}", tools)
    paired = {frozenset(n for way in group for n in way) for group in groups.values()}
    for tool in tools.values():
        known = [name for name in tool.substitutes if name in tools]
        if known and not any({tool.name, *known} <= names for names in paired):
            groups[f"{tool.name}_substitutes"] = ((tool.name,), *((name,) for name in known))
            paired.add(frozenset((tool.name, *known)))
    return groups


def _group(raw: Any, where: str, tools: Mapping[str, Tool]) -> Group:
    group = tuple(
        tuple(field(tool, "tool_name", str, place) for tool, place in items(path, "tools", at))
        for path, at in items(raw, "paths", where)
    )
    for name in _flat(group):
        if name not in tools:
            raise DataError(f"{where} names the tool {name!r}, which is not defined")
    return group


def _flat(group: Group) -> Iterator[str]:
    return (name for way in group for name in way)


def _yaml(file: Path) -> Any:
    try:
        return parse_yaml(read_text(file), str(file))
    except DataError:
        raise
    except ValueError as error:  # what parse_yaml says of a file that is no YAML
        raise DataError(str(error)) from None
