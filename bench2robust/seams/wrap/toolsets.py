"""pydantic-ai toolsets, known by what they have."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Any

from bench2robust.seams.seam import Seam
from bench2robust.seams.specs import mcp_tool
from bench2robust.seams.wrap.carrying import carry_async

__all__ = ["is_toolset", "wrapped"]

_HAS = ("get_tools", "call_tool", "tool_name_conflict_hint")


def is_toolset(tool: Any) -> bool:
    """Say whether something is a pydantic-ai toolset."""
    return all(
        hasattr(tool, name) for name in ("get_tools", "call_tool", "tool_name_conflict_hint")
    )


def wrapped(seam: Seam, toolset: Any) -> Any:
    """Return a toolset around another, whose calls go through a seam."""
    return _kind()(toolset, seam)


@functools.cache
def _kind() -> type:
    base: Any = sys.modules["pydantic_ai.toolsets"].WrapperToolset

    @dataclass
    class SeamToolset(base):
        """A toolset with a seam around it; a dataclass, since its kind are copied as such."""

        seam: Seam
        warned: bool = False

        async def get_tools(self, ctx: Any) -> dict[str, Any]:
            tools: dict[str, Any] = await super().get_tools(ctx)
            self.seam.learn(mcp_tool(_entry(t.tool_def)) for t in tools.values())
            if not self.warned:
                self.warned = True
                self.seam.warn_of_strangers()
            return tools

        async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
            run = functools.partial(super().call_tool, name, tool_args, ctx, tool)
            return await carry_async(self.seam, name, tool_args, run)

    return SeamToolset


def _entry(definition: Any) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.parameters_json_schema,
    }
