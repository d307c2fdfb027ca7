"""Python types for JSON Schemas: those of which transformers makes the same schemas again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

__all__ = ["type_hint"]

_PLAIN: Mapping[Any, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
_DEEPEST = 8
"""Definitions may name themselves; what lies deeper can be anything."""


def type_hint(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the type that a JSON Schema describes; Any where no type says it.

    Args:
        definitions: what ``$ref`` refers to, by its last part.
    """
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return Any

    def inner(part: Any) -> Any:
        return type_hint(part, definitions, depth + 1)

    if "$ref" in schema:
        return inner(definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1]))
    if values := _listed(schema.get("enum")):
        return Literal[values]
    kind = schema.get("type")
    parts = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(kind, list):
        parts = [{**schema, "type": name} for name in kind]
    if parts:
        return Union[tuple(map(inner, parts))]  # noqa: UP007  # their number is not known
    if kind == "array":
        return list[inner(schema["items"])] if schema.get("items") else list  # type: ignore[misc]
    if kind == "object":
        values_of = schema.get("additionalProperties")
        return dict[str, inner(values_of)] if isinstance(values_of, Mapping) else dict  # type: ignore[misc]
    return _PLAIN.get(kind, Any)


def _listed(values: Any) -> tuple[Any, ...]:
    """Return the values of an ``enum`` if all of them can be part of a type."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return ()
    return tuple(values) if all(isinstance(v, str | int | bool | None) for v in values) else ()
