"""What a model is told before the dialogue starts."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.agents.base import Brief
from bench2robust.core.canonical import canonical
from bench2robust.core.types import ToolSpec
from bench2robust.memory import system_text

__all__ = ["result_as_text", "system_prompt", "tools_as_text"]

_FORMAT = """\

# Tools

You can call the tools below. To call one, answer with one JSON object and nothing else:
{{"name": "TOOL", "arguments": {{"PARAMETER": "VALUE"}}}}
The result comes back to you, not to the customer. Anything else that you write is said to the
customer.

{}
"""


def system_prompt(brief: Brief, describe: Sequence[ToolSpec] = ()) -> str:
    """Return the domain's policy, the memory block, and the tools to ``describe`` in words."""
    text = system_text(brief.domain.policy, brief.memory)
    if not describe:
        return text
    return text.rstrip("\n") + "\n" + _FORMAT.format(tools_as_text(describe))


def tools_as_text(tools: Sequence[ToolSpec]) -> str:
    """Return one line a tool: name, parameters as JSON Schema properties, description."""
    return "\n".join(
        f"- {spec.name} {canonical(spec.parameters.get('properties', {}))}: {spec.description}"
        for spec in tools
    )


def result_as_text(name: str, content: str) -> str:
    """Return a tool's result as a user's message, for models to which tools are described."""
    return f"Result of {name}:\n{content}"
