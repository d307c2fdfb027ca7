"""The memory block of the system prompt, byte for byte as in appendix N (figure 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bench2robust.core.domain import Domain
from bench2robust.core.fallback import FallbackPath
from bench2robust.memory.posterior import Memory

__all__ = ["ERRORS", "Layout", "layout", "render"]

_ERROR_LINES = (
    ("timeout", "rate_limit"),
    ("server_error", "auth_error", "schema_drift"),
    ("malformed_response", "partial", "stale"),
    ("factual_error",),
)
ERRORS = tuple(error for line in _ERROR_LINES for error in line)
"""The errors in the order of the template."""

CALCULATOR = "calculate"
_GRANULARITY = {"all": "all fields", "some": "some fields", "none": "no field"}

_OPENING = """\
<tool_reliability>
Tool recovery beliefs (Beta posterior, from historical data):"""
_HOW_TO_USE = """\
How to use: Compare P(recovery) vs P(switch) for your error.
  High P(recovery) -> retry this tool.
  Low P(recovery) + high P(switch) -> switch to alternative.
  After switching, verify returned data has needed fields.
  If both low -> ask the user or transfer."""
_PATHS = "Alternative tool paths (when primary tool fails):"
_CONSTRAINTS = "Critical constraints:"
_CALCULATE = "For ANY price calculation, use the calculate tool."
_RULES = (
    "If a tool fails, retry at least once before other options.",
    "After switching, verify returned data provides ALL required\n"
    "   fields at the right granularity.",
    "Before any irreversible action, confirm every required field\n"
    "   from actual tool responses. Do not guess missing fields.",
    _CALCULATE,
    "After calling a write tool, check the response for errors.",
    "Only transfer after exhausting retry and alternative paths.",
)
_CLOSING = "</tool_reliability>"


class Layout(NamedTuple):
    """What a block speaks of: the tools that can fail, and the paths between tools on offer."""

    tools: tuple[str, ...]
    paths: tuple[FallbackPath, ...]
    calculator: bool


def layout(domain: Domain, alternatives: bool) -> Layout:
    """Return what a block for this tool set speaks of, in the domain's own order."""
    specs = domain.tools(alternatives)
    offered = {spec.name for spec in specs}
    paths = (path for cls in domain.classes for path in cls.paths)
    return Layout(
        tuple(spec.name for spec in specs if spec.faultable),
        tuple(p for p in paths if p.source in offered and p.target in offered),
        CALCULATOR in offered,
    )


def render(memory: Memory, about: Layout, static: bool = True) -> str:
    """Return the block.

    Args:
        static: whether it has the fallback map and the constraints. Without them it names no
            alternative at all, so the switch beliefs, which are about the map, are absent too.
    """
    paths = about.paths if static else ()
    parts = [_OPENING, *(_beliefs(tool, memory, paths) for tool in about.tools), _HOW_TO_USE]
    if paths:
        parts += (_PATHS, *dict.fromkeys(f"- {p.source} -> {p.target} ({p.note})" for p in paths))
    if static:
        parts += (
            _CONSTRAINTS,
            *_numbered(r for r in _RULES if about.calculator or r != _CALCULATE),
        )
    return "\n".join([*parts, _CLOSING])


def _numbered(rules: Iterable[str]) -> list[str]:
    return [f"{number}. {rule}" for number, rule in enumerate(rules, start=1)]


def _beliefs(tool: str, memory: Memory, paths: Iterable[FallbackPath]) -> str:
    """Return a tool's lines; of several paths to one target the best gives the granularity."""
    cells = ",\n    ".join(
        ", ".join(f"{error}={memory.recovers(tool, error).mean:.2f}" for error in line)
        for line in _ERROR_LINES
    )
    lines = [f"{tool}:", f"  P(episode recovery | error): {cells}"]
    best: dict[str, str] = {}
    for path in paths:
        if path.source == tool:
            best.setdefault(path.target, _GRANULARITY[path.granularity])
    for target, granularity in best.items():
        mean = memory.switches(tool, target).mean
        lines.append(f"  Alternative: {target} (P={mean:.2f}, {granularity})")
    return "\n".join(lines)
