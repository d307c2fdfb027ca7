"""``wrap_tools``: faults, monitor, loop guard and record around Python tools of any framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from bench2robust.core.errors import UsageError, shown
from bench2robust.seams.options import SeamOptions
from bench2robust.seams.seam import Seam
from bench2robust.seams.wrap import langchain, toolsets
from bench2robust.seams.wrap.functions import declared, described, wrapped

__all__ = ["WrappedTools", "wrap_tools"]


class WrappedTools(list[Any]):
    """Wrapped tools, in the order and the form in which they were given.

    Leaving it as a context manager, or :meth:`~bench2robust.seams.seam.Seam.close`, ends the
    episode and writes its record.

    Attributes:
        seam: the seam around them: its ledger, its counts, its verdict.
    """

    def __init__(self, seam: Seam) -> None:
        super().__init__()
        self.seam = seam

    def __enter__(self) -> WrappedTools:
        return self

    def __exit__(self, *error: object) -> None:
        self.seam.close()


def wrap_tools(
    tools: Iterable[Any], *, seam: Seam | None = None, **options: Unpack[SeamOptions]
) -> WrappedTools:
    """Return the same tools with faults, monitor and loop guard around them.

    Each tool may be

    * a function or other callable, synchronous or not;
    * a pair of a tool dict in OpenAI's form and the callable that runs it;
    * a LangChain tool (any ``BaseTool``);
    * a pydantic-ai toolset.

    The tools that were given stay as they are. Where nothing is changed, callers get the very
    objects that the tools return. An error that a fault brings comes as its text, as an agent
    reads it (from a LangChain tool as a message with the status ``error``).

    Args:
        seam: an existing seam to go through, in place of ``options``; so several lists of tools
            share one episode.
        options: see :class:`~bench2robust.seams.options.SeamOptions`.

    Raises:
        UsageError: something is no tool, or an option is wrong.
    """
    if seam is not None and options:
        raise UsageError("wrap_tools: give a seam or options, not both; a seam has its own.")
    found = WrappedTools(seam if seam is not None else Seam(**options))
    for tool in tools:
        found.append(_wrapped(found.seam, tool))
    if not any(map(toolsets.is_toolset, found)):  # a toolset says its tools only when it is used
        found.seam.warn_of_strangers()
    return found


def _wrapped(seam: Seam, tool: Any) -> Any:
    if isinstance(tool, tuple) and len(tool) == 2 and isinstance(tool[0], Mapping):
        entry, function = tool
        known = declared(entry)
        seam.learn([known])
        return entry, wrapped(seam, known.spec.name, function)
    if toolsets.is_toolset(tool):
        return toolsets.wrapped(seam, tool)
    if langchain.is_tool(tool):
        return langchain.wrapped(seam, tool)
    if not callable(tool):
        raise UsageError(
            f"{shown(tool)} is no tool: give a function, a pair of a tool dict and a function, a "
            f"LangChain tool or a pydantic-ai toolset."
        )
    known = described(tool)
    seam.learn([known])
    return wrapped(seam, known.spec.name, tool)
