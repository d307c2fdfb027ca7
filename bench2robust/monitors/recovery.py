"""Which tools a receipt may name: public substitutes that are advertised, and nothing else.

The mapping from a tool to its substitutes is static and knows no task: it comes from the fallback
classes that a domain publishes, or from a JSON file of the operator's. So a receipt never names a
tool that the agent cannot call, nor one because it would solve the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from bench2robust.core.canonical import parse_json
from bench2robust.core.errors import DataError, shown
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import ToolSpec

__all__ = ["Substitutes", "load_substitutes", "recovery_tools", "substitutes_of"]

Substitutes: TypeAlias = Mapping[str, tuple[str, ...]]
"""Tool to the tools that can stand in for it, best first."""


def recovery_tools(
    tool: str, substitutes: Substitutes, advertised: Sequence[ToolSpec], *, itself: bool
) -> tuple[str, ...]:
    """Return the recovery tools of a result of ``tool``.

    Args:
        advertised: the tools that the agent can call.
        itself: whether calling ``tool`` again counts as one; it then comes first.
    """
    offered = {spec.name for spec in advertised}
    names = (tool, *substitutes.get(tool, ())) if itself else substitutes.get(tool, ())
    return tuple(name for name in dict.fromkeys(names) if name in offered)


def substitutes_of(classes: Iterable[FallbackClass]) -> dict[str, tuple[str, ...]]:
    """Return the substitutes that fallback classes publish.

    For each tool these are the tools that a path of its class leads to, then the other members.
    """
    found: dict[str, dict[str, None]] = {}
    for cls in classes:
        for tool in cls.members:
            targets = (path.target for path in cls.paths_from(tool))
            names = found.setdefault(tool, {})
            names.update(dict.fromkeys(n for n in (*targets, *cls.members) if n != tool))
    return {tool: tuple(names) for tool, names in found.items()}


def load_substitutes(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the substitutes in a JSON file: ``{"tool": ["substitute", …], …}``.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        value = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"The substitutes {path} cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise DataError(f"{path} must be an object of tools to lists of tools.")
    for tool, names in value.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataError(f"{path}: {tool} must be a list of tool names, not {shown(names)}.")
    return {tool: tuple(names) for tool, names in value.items()}
