"""LangChain tools, known by what they have; LangGraph runs the same ones.

The twin of a tool is a copy of it whose class is derived from its own, so that it is still a tool
for whoever looks, with everything that it was set up with.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from bench2robust.seams.passage import Delivery
from bench2robust.seams.seam import Seam
from bench2robust.seams.specs import mcp_tool
from bench2robust.seams.wrap.carrying import carry, carry_async

__all__ = ["is_tool", "wrapped"]


def is_tool(tool: Any) -> bool:
    """Say whether something is a LangChain tool."""
    return all(hasattr(tool, name) for name in ("name", "args", "_run", "_arun", "ainvoke"))


def wrapped(seam: Seam, tool: Any) -> Any:
    """Return the twin of a tool whose calls go through a seam."""
    schema = _schema(tool)
    entry = {"name": tool.name, "description": tool.description, "inputSchema": schema}
    seam.learn([mcp_tool(entry)])
    refused, handler = _error_of(tool)
    twin = tool.model_copy(update={"handle_tool_error": handler})
    through = _Through(seam, tuple(schema.get("properties", ())), refused)
    object.__setattr__(twin, "__class__", _derived(type(tool), through))
    return twin


class _Through(NamedTuple):
    """How the calls of one tool go: through which seam, with which arguments of the model's."""

    seam: Seam
    names: tuple[str, ...]
    refused: Callable[[Delivery], Any]

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = dict(zip(self.names, args, strict=False)) | kwargs
        return {name: value for name, value in given.items() if name in self.names}


def _schema(tool: Any) -> dict[str, Any]:
    """Return the JSON Schema of the arguments that a model gives, not of those put in later."""
    schema = tool.tool_call_schema
    found: dict[str, Any] = schema if isinstance(schema, dict) else schema.model_json_schema()
    return found


def _derived(kind: Any, through: _Through) -> Any:
    """Return a class of tools that run through a seam."""
    seam, refused = through.seam, through.refused
    run, arun = kind._run, kind._arun

    # The framework looks at the signatures for what it passes in, so the twins keep them.
    @functools.wraps(run)
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        split = _Split(self)
        again = functools.partial(run, self, *args, **kwargs)
        given = through.arguments(args, kwargs)
        return split.join(carry(seam, self.name, given, lambda: split(again()), refused))

    @functools.wraps(arun)
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        split = _Split(self)

        async def again() -> Any:
            return split(await arun(self, *args, **kwargs))

        given = through.arguments(args, kwargs)
        return split.join(await carry_async(seam, self.name, given, again, refused))

    members = {"_run": _run, "__module__": kind.__module__}
    if arun is not _package().BaseTool._arun:  # else it runs _run, and is known by being the root's
        members["_arun"] = _arun
    return type(kind)(kind.__name__, (kind,), members)


class _Split:
    """Keeps the artifact of a tool that returns one beside its content."""

    def __init__(self, tool: Any) -> None:
        self._both = tool.response_format == "content_and_artifact"
        self._artifact: Any = None

    def __call__(self, value: Any) -> Any:
        if self._both and isinstance(value, tuple) and len(value) == 2:
            value, self._artifact = value
        return value

    def join(self, value: Any) -> Any:
        return (value, self._artifact) if self._both else value


def _package() -> Any:
    """Return LangChain's module of tools: it is there, since a tool came from it."""
    return sys.modules["langchain_core.tools"]


def _error_of(tool: Any) -> tuple[Callable[[Delivery], Any], Any]:
    """Return how an error of a fault is raised, and how the tool then turns it into a message."""
    base: Any = _package().ToolException

    class _Fault(base):
        """An error that a fault brings."""

    def refused(got: Delivery) -> Any:
        raise _Fault(got.spoken)

    own = tool.handle_tool_error

    def handle(error: Any) -> Any:
        if isinstance(error, _Fault) or own is True:
            return str(error.args[0]) if error.args else "Tool execution error"
        if not own:
            raise error
        return own(error) if callable(own) else own

    return refused, handle
