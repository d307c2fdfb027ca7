"""Contracts from what tools declare: the part of a JSON Schema that a contract can say.

Types, required and closed keys, enumerations and positivity become invariants with source
``schema`` and no support. Alternatives (``anyOf``, ``oneOf``) give types only; ranges, formats and
lengths are left to validators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Contract, Invariant, in_order
from bench2robust.monitors.pointers import EACH, EVERY, escape, join
from bench2robust.monitors.sources.schemas import DeclaredTool

__all__ = ["combined", "declared_contract"]

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_MOST_DEPTH = 60
_UNTYPED = ("items", "array"), ("properties", "object"), ("required", "object")


def declared_contract(tools: Iterable[DeclaredTool]) -> Contract:
    """Return what the output schemas of tools say; tools that declare nothing are not covered."""
    found = {tool.name: in_order(set_of(_schema(tool.output, (), 0))) for tool in tools}
    return Contract({name: rows for name, rows in found.items() if rows})


def combined(mined: Contract, declared: Contract) -> Contract:
    """Return both contracts in one; where both say something of one place, the declared holds."""
    tools = {}
    for name in (*mined.tools, *(t for t in declared.tools if t not in mined.tools)):
        said = declared.tools.get(name, ())
        places = {(i.code, i.path) for i in said}
        more = (i for i in mined.tools.get(name, ()) if (i.code, i.path) not in places)
        tools[name] = in_order((*said, *more))
    return Contract(tools, dict(mined.records), mined.profile)


def set_of(invariants: Iterable[Invariant]) -> Iterator[Invariant]:
    """Yield the first invariant of each code and place: schemas may say a thing twice."""
    seen: set[tuple[str, str]] = set()
    for invariant in invariants:
        place = (invariant.code, invariant.path)
        if place not in seen:
            seen.add(place)
            yield invariant


def _schema(schema: Json, at: tuple[str, ...], depth: int) -> Iterator[Invariant]:
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return
    path = join(at)
    if types := _types(schema):
        yield _says("learned_type_mismatch", path, types=types)
    yield from _values(schema, path)
    yield from _object(schema, at, depth)
    yield from _schema(schema.get("items"), (*at, EACH), depth + 1)
    for part in _list(schema.get("allOf")):
        yield from _schema(part, at, depth + 1)


def _says(code: str, path: str, **params: Json) -> Invariant:
    return Invariant(code, path, params, source="schema")


def _types(schema: Mapping[str, Json]) -> list[str]:
    """Return the JSON Schema types that a schema allows; empty if any."""
    stated = schema.get("type")
    names = [stated] if isinstance(stated, str) else _list(stated)
    types = {name for name in names if name in _TYPES}
    if not types and "type" not in schema:
        types = {kind for key, kind in _UNTYPED if key in schema and "anyOf" not in schema}
        for key in ("anyOf", "oneOf"):
            parts = [
                _types(part) if isinstance(part, dict) else [] for part in _list(schema.get(key))
            ]
            types |= {name for part in parts for name in part} if all(parts) else set()
    if types and schema.get("nullable") is True:  # OpenAPI 3.0
        types.add("null")
    return sorted(types)


def _values(schema: Mapping[str, Json], path: str) -> Iterator[Invariant]:
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    values = [value for value in values if value is not None]  # types say whether it may be null
    if values and all(type(value) in (str, int, bool) for value in values):
        yield _says("unseen_category", path, values=values)
    if _number(schema.get("exclusiveMinimum"), -1) >= 0 or _number(schema.get("minimum"), 0) > 0:
        yield _says("nonpositive_value", path)
    elif schema.get("exclusiveMinimum") is True and _number(schema.get("minimum"), -1) >= 0:
        yield _says("nonpositive_value", path)  # JSON Schema draft 4, OpenAPI 3.0


def _number(value: Any, otherwise: float) -> float:
    return value if isinstance(value, (int, float)) and type(value) is not bool else otherwise


def _object(schema: Mapping[str, Json], at: tuple[str, ...], depth: int) -> Iterator[Invariant]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    for key in dict.fromkeys(k for k in _list(schema.get("required")) if isinstance(k, str)):
        yield _says("missing_learned_field", join((*at, escape(key))))
    others = schema.get("additionalProperties")
    if others is False and "patternProperties" not in schema and "allOf" not in schema:
        yield _says("unexpected_field", join(at), keys=sorted(properties))
    for key, part in properties.items():
        yield from _schema(part, (*at, escape(key)), depth + 1)
    if not properties:
        yield from _schema(others, (*at, EVERY), depth + 1)


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []
