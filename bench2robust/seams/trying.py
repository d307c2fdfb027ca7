"""What the faults of a plan would do to one recorded result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

import orjson

from bench2robust.core.canonical import Json, parse_json
from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.injectors.engine import FaultPlan
from bench2robust.injectors.events import Change
from bench2robust.injectors.kernels import get_kernel, kernel_names
from bench2robust.injectors.machine import FaultMachine
from bench2robust.injectors.profiles import FaultProfile
from bench2robust.monitors.sources.sample import USUAL, Sample, sample_of
from bench2robust.seams.proxy.results import true_result
from bench2robust.seams.specs import unknown_tool

__all__ = ["Observation", "Tried", "read_observation", "tried"]


class Observation(NamedTuple):
    """A call and what came back."""

    call: ToolCall
    result: ToolResult


class Tried(NamedTuple):
    """What one fault does to a result.

    Attributes:
        shown: what the agent gets; None if the fault cannot change this result.
    """

    fault: str
    observable: bool
    shown: ToolResult | None
    changes: tuple[Change, ...]

    def diff(self, true: str) -> str:
        """Return the difference to the true result, line by line of both written out."""
        after = self.shown.content if self.shown is not None else true
        return "\n".join(unified_diff(_lines(true), _lines(after), "true", "seen", lineterm=""))


def read_observation(path: Path, tool: str) -> Observation:
    """Return the result in a file.

    It may be a line of a trace (``{"tool": …, "args": …, "response": …}``), an MCP
    ``CallToolResult``, or the bare text or JSON value that a tool returned.

    Args:
        tool: what the tool is called where the file does not say it.

    Raises:
        DataError: the file cannot be read, or holds a trace line that is none.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The result {path} cannot be read: {error}.") from None
    value = _parsed(text)
    if _is_mcp(value):
        return Observation(ToolCall(tool, {}), true_result(value))
    if not isinstance(value, dict) or "response" not in value:
        return Observation(ToolCall(tool, {}), ToolResult(text))
    try:
        sample = sample_of({"tool": tool, **value}, USUAL, "")
    except ValueError as error:
        raise DataError(f"{path}: {error}.") from None
    return Observation(ToolCall(sample.tool, sample.arguments), _result(value["response"], sample))


def _result(response: Json, sample: Sample) -> ToolResult:
    """Return a response as an agent gets it; one of MCP as it would pass the proxy."""
    if _is_mcp(response):
        return true_result(response)
    found = sample.response
    return ToolResult(found if isinstance(found, str) else orjson.dumps(found).decode())


def _is_mcp(value: Json) -> bool:
    """Say whether a value is an MCP ``CallToolResult``."""
    if not isinstance(value, dict):
        return False
    blocks = value.get("content")
    if isinstance(blocks, list) and blocks:
        return all(isinstance(block, dict) and "type" in block for block in blocks)
    return isinstance(value.get("structuredContent"), dict)


def tried(profile: FaultProfile, seen: Observation, seed: int = 0) -> Iterator[Tried]:
    """Yield what each fault that the plan has for a tool would do to a result of it."""
    for fault in _faults(profile, seen.call.name):
        alone = profile.model_copy(
            update={
                "probabilities": {},
                "clean": 1.0,
                "tools": {},
                "schedule": [{"fault": fault}],
                "commit": {},  # the call of this result did run
            }
        )
        machine = FaultMachine(FaultPlan(seed, "", alone), unknown_tool)
        pending = machine.before(seen.call)
        assert pending is not None
        shown = machine.after(pending, seen.result)
        event = machine.events[0]
        landed = shown if event.delivered is not None else None
        yield Tried(fault, get_kernel(fault).observable, landed, event.changes)


def _faults(profile: FaultProfile, tool: str) -> list[str]:
    """Return the faults that a plan can have for a tool, in the order of the kernels."""
    drawn = profile.tools.get(tool, profile.probabilities)
    wanted = {name for name, p in drawn.items() if p > 0}
    wanted |= {rule.fault for rule in profile.schedule if rule.about(tool)}
    return [name for name in kernel_names() if name in wanted]


def _parsed(text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _lines(content: str) -> list[str]:
    value = _parsed(content) if content[:1] in ("{", "[") else content
    if isinstance(value, str):
        return content.splitlines()
    return json.dumps(value, indent=2, ensure_ascii=False).splitlines()
