"""ToolMaze's alternatives as fallback classes: they return the very value of what they replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.toolmaze.definitions import Group, Tool

__all__ = ["classes_of"]


def classes_of(
    groups: Mapping[str, Group], tools: Mapping[str, Tool]
) -> tuple[tuple[FallbackClass, ...], tuple[str, ...]]:
    """Return the classes, and the ids of the groups that are none.

    A class needs a way of one tool, which is what can be replaced, and a second way. A way of
    several tools serves where each takes its arguments from those of the replaced one; groups of
    nothing but longer ways (``many_to_many``) are left out.
    """
    classes, left_out = [], []
    for name, group in groups.items():
        single = [way[0] for way in group if len(way) == 1]
        paths = [
            _path(tools[source], [tools[n] for n in way])
            for source in single
            for way in group
            if source not in way
        ]
        if not paths:
            left_out.append(name)
            continue
        targets = [path.target for path in paths]
        members = tuple(dict.fromkeys((*single, *targets)))
        classes.append(FallbackClass(name, members, tuple(paths)))
    return tuple(classes), tuple(left_out)


def _path(source: Tool, way: list[Tool]) -> FallbackPath:
    def calls(arguments: Mapping[str, Any], known: Knowledge) -> list[ToolCall] | None:
        made = [_arguments(source, tool, arguments) for tool in way]
        whole = [given for given in made if given is not None]
        if len(whole) < len(made):
            return None
        return [ToolCall(tool.name, given) for tool, given in zip(way, whole, strict=True)]

    def read(arguments: Mapping[str, Any], results: list[Json]) -> Json | None:
        return results[-1]

    steps = " then ".join(tool.name for tool in way)
    return FallbackPath(source.name, way[-1].name, "all", f"same result by {steps}", calls, read)


def _arguments(source: Tool, target: Tool, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the target's arguments: by name, or in order where the names differ."""
    names = target.parameters["properties"]
    by_name = {name: value for name, value in given.items() if name in names}
    if set(target.required) <= set(by_name):
        return by_name
    if len(target.required) == len(source.required) and set(source.required) <= set(given):
        return {t: given[s] for t, s in zip(target.required, source.required, strict=True)}
    return None
