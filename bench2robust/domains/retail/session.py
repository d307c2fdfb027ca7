"""A live retail session: checks a call's arguments, runs the tool, never raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.refusing import refusal
from bench2robust.domains.retail.alternatives import ALTERNATIVES
from bench2robust.domains.retail.state import Base, RefusedError, State
from bench2robust.domains.retail.tools import STOCK, Handler

__all__ = ["RetailSession", "Toolset"]


class RetailSession:
    """One episode's private state and the tools that act on it."""

    __slots__ = ("_tools", "state", "tools")

    def __init__(self, base: Base, toolset: Toolset) -> None:
        self.state = State(base)
        self.tools = toolset.specs
        self._tools = toolset.by_name

    @property
    def revision(self) -> int:
        """A number that rises whenever a call really changed a record."""
        return self.state.revision

    def call(self, call: ToolCall) -> ToolResult:
        """Run one call; whatever is wrong with it comes back as an error result."""
        name, arguments = call
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return refusal(f"Tool '{name}' not found.")
        problem = tool.problem(arguments)
        if problem:
            return refusal(problem)
        try:
            return ToolResult(tool.run(self.state, **arguments))
        except RefusedError as error:
            return refusal(str(error))

    def delta(self) -> dict[str, str]:
        """Return the JSON text of every record that differs from the start, by ``kind/id``.

        The text is canonical in that every record's fields stand in one fixed order.
        """
        return self.state.delta()


class Toolset:
    """The tools of one kind of session; built once and shared.

    Attributes:
        specs: what an agent is shown.
        by_name: what runs.
    """

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        handlers = STOCK | ALTERNATIVES
        self.specs = tuple(specs)
        self.by_name = {spec.name: _tool(handlers[spec.name], spec) for spec in specs}


class _Tool(NamedTuple):
    run: Handler
    kinds: Mapping[str, _Kind]

    def problem(self, arguments: Json) -> str:
        """Return what is wrong with a call's arguments; empty if nothing is."""
        if not isinstance(arguments, dict):
            return "Arguments must be a JSON object."
        for name, (holds, words) in self.kinds.items():
            if name not in arguments:
                return f"Missing argument '{name}'."
            if not holds(arguments[name]):
                return f"Argument '{name}' must be {words}."
        if len(arguments) > len(self.kinds):
            unknown = next(name for name in arguments if name not in self.kinds)
            return f"Unknown argument '{unknown}'."
        return ""


class _Kind(NamedTuple):
    holds: Callable[[Json], bool]
    words: str


def _is_text(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:  # lone surrogates are no text: neither JSON nor UTF-8 can hold them
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_list(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_map(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_text, (*value, *value.values())))


_KINDS = {
    "string": _Kind(_is_text, "a string"),
    "array": _Kind(_is_list, "a list of strings"),
    "object": _Kind(_is_map, "an object of strings"),
}


def _tool(run: Handler, spec: ToolSpec) -> _Tool:
    properties = spec.parameters["properties"]
    return _Tool(run, {name: _KINDS[schema["type"]] for name, schema in properties.items()})
