"""A tool of somebody else's as the package needs it: what kind it is, which fields are critical.

Both are read off what the tool publishes, a name and JSON Schemas, and guessed where it says
nothing. A tool that does not say that it only reads may write, as in the Model Context Protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.paths import Pattern
from bench2robust.core.types import ResultFields, ToolKind, ToolSpec
from bench2robust.injectors.fields import LIFE_CYCLES
from bench2robust.injectors.kernels.incidents.leaves import id_named, status_like
from bench2robust.monitors.sources.schemas import resolved

__all__ = ["Tool", "kind_of_name", "mcp_tool", "unknown_tool"]

T = TypeVar("T")
_READS = frozenset(
    """
    check compare count current describe diff download explain fetch find get info inspect list
    log look lookup query read retrieve search show stat stats status tree validate view
    """.split()  # noqa: SIM905
)
_WRITES = frozenset(
    """
    add append apply book buy cancel checkout clear commit copy create delete deploy drop edit
    execute exchange insert install kill make merge modify move pay post publish purge push
    put refund remove rename replace reset restart return run save schedule send set start stop
    submit transfer unlock update upload write
    """.split()  # noqa: SIM905
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DEEPEST = 30


class Tool(NamedTuple):
    """A tool at a seam.

    Attributes:
        output: JSON Schema of its result, references written out; ``{}`` if it publishes none.
    """

    spec: ToolSpec
    output: Mapping[str, Json]


def mcp_tool(entry: Mapping[str, Any]) -> Tool:
    """Return a tool from an entry of an MCP ``tools/list`` answer.

    Only ``name`` is needed; ``description``, ``inputSchema``, ``outputSchema`` and
    ``annotations.readOnlyHint`` are used where they are well formed.
    """
    annotations = _object(entry.get("annotations"))
    output = _object(entry.get("outputSchema"))
    try:
        output = resolved(output, output)
    except DataError:
        output = {}  # it cannot be read, so it says nothing
    spec = _spec(
        str(entry["name"]),
        str(entry.get("description") or ""),
        _object(entry.get("inputSchema")) or {"type": "object"},
        annotations.get("readOnlyHint"),
        output,
    )
    return Tool(spec, output)


def unknown_tool(name: str) -> ToolSpec:
    """Return what can be said of a tool that is called before any list of tools was seen."""
    return _spec(name, "", {"type": "object"}, None, {})


def kind_of_name(name: str) -> ToolKind:
    """Return ``read`` for a name whose first telling word is one of reading, else ``write``."""
    for word in map(str.lower, _WORDS.findall(name)):
        if word in _READS:
            return "read"
        if word in _WRITES:
            return "write"
    return "write"


def _spec(
    name: str,
    description: str,
    parameters: Mapping[str, Json],
    read_only: object,
    output: Mapping[str, Json],
) -> ToolSpec:
    kind: ToolKind = kind_of_name(name)
    if isinstance(read_only, bool):
        kind = "read" if read_only else "write"
    fields = fields_of_schema(output)
    return ToolSpec(name, description, parameters, kind, fields, derived=True)


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def fields_of_schema(schema: Mapping[str, Json]) -> ResultFields:
    """Return the decision-critical fields that a result's JSON Schema declares.

    Contents are texts, lists and objects at the top; states are texts with an ``enum``, in its
    order, or, where it is that of a common life cycle, in the order of that; amounts are numbers.
    Fields that are ids by their name are left alone.
    """
    found = list(_places(schema, (), 0))
    contents = [p for p, s in found if len(p) == 1 and p[0] != "*" and _is_content(p, s)]
    states = [(p, order) for p, s in found if (order := _order(s))]
    amounts = [p for p, s in found if _types(s) & {"number", "integer"} and not _is_id(p)]
    return ResultFields(_once(contents), _once(states), _once(amounts))


def _once(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _places(schema: Json, at: Pattern, depth: int) -> Iterator[tuple[Pattern, Mapping[str, Json]]]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    yield at, schema
    for key, part in _object(schema.get("properties")).items():
        yield from _places(part, (*at, key), depth + 1)
    yield from _places(schema.get("items"), (*at, "*"), depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(key)
        for part in parts if isinstance(parts, list) else ():
            yield from _places(part, at, depth + 1)


def _types(schema: Mapping[str, Json]) -> set[str]:
    stated = schema.get("type")
    return {t for t in (stated if isinstance(stated, list) else [stated]) if isinstance(t, str)}


def _is_content(path: Pattern, schema: Mapping[str, Json]) -> bool:
    holds = _types(schema) & {"string", "array", "object"} or "properties" in schema
    named = _is_id(path) or status_like(path, "")  # an id or a state, by its name
    return bool(holds) and "enum" not in schema and not named


def _is_id(path: Pattern) -> bool:
    return id_named(next((step for step in reversed(path) if step != "*"), ""))


def _order(schema: Mapping[str, Json]) -> tuple[str, ...]:
    values = schema.get("enum")
    texts = [v for v in values if isinstance(v, str)] if isinstance(values, list) else []
    if len(texts) < 2:
        return ()
    usual = next((c for c in LIFE_CYCLES if {*texts} <= {*c}), None)
    return tuple(texts if usual is None else sorted(texts, key=usual.index))
