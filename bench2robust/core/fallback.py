"""Fallback-equivalence classes: which tools can stand in for which, and how (appendix D).

A :class:`FallbackPath` says honestly at which granularity the other tool gives the same facts: how
its arguments come from what the agent was told or has observed, and how the replaced tool's result
is read from what it returns. Fields that it cannot give are absent from what ``read`` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolCall

__all__ = ["FallbackClass", "FallbackPath", "Knowledge"]


@dataclass(slots=True)
class Knowledge:
    """What an agent may use: what the user said, and results that it accepted, oldest first."""

    told: list[str] = field(default_factory=list)
    results: list[tuple[ToolCall, Json]] = field(default_factory=list)

    def objects(self) -> Iterator[dict[str, Json]]:
        """Yield every JSON object inside the results, newest result first, outer before inner."""
        for _, result in reversed(self.results):
            stack = [result]
            while stack:
                item = stack.pop()
                if isinstance(item, dict):
                    yield item
                    stack.extend(reversed(list(item.values())))
                elif isinstance(item, list):
                    stack.extend(reversed(item))

    def text(self) -> str:
        """Return everything the user said, joined by newlines."""
        return "\n".join(self.told)


Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FallbackPath:
    """One way to do without ``source``.

    Attributes:
        source: the tool that is replaced.
        target: the tool that stands in (the name that memory and tables show).
        granularity: ``all``, ``some`` or ``none`` of the source's fields can be had this way.
        note: the granularity in words, as prompts show it.
        calls: from the source's arguments and the agent's knowledge to the calls to make
            (``target`` first or last), or None when an argument is not known.
        read: from the source's arguments and the parsed results of those calls to the source's
            result, or None when they do not hold it.
        ask: the question to the user that can bring what ``calls`` lacks; empty if none can.
    """

    source: str
    target: str
    granularity: Literal["all", "some", "none"]
    note: str
    calls: Callable[[Arguments, Knowledge], list[ToolCall] | None]
    read: Callable[[Arguments, list[Json]], Json | None]
    ask: str = ""


@dataclass(frozen=True, slots=True)
class FallbackClass:
    """Tools that give the same facts by different paths.

    Attributes:
        name: short name, such as ``order``.
        members: every tool of the class, the usual (primary) one first.
        paths: how each stands in for another; the order is the order of preference.
    """

    name: str
    members: tuple[str, ...]
    paths: tuple[FallbackPath, ...]

    def paths_from(self, source: str) -> list[FallbackPath]:
        """Return the paths that replace ``source``, best first."""
        return [p for p in self.paths if p.source == source]
