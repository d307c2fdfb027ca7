"""Checking a call's arguments by its tool's JSON Schema: τ²-bench runs whatever it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.errors import shown

__all__ = ["problem"]

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def problem(arguments: Json, schema: Mapping[str, Any]) -> str:
    """Return what is wrong with the arguments of a call; empty if nothing is."""
    if not isinstance(arguments, dict):
        return "Arguments must be a JSON object."
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"Missing argument '{name}'."
    for name, value in arguments.items():
        if name not in properties:
            return f"Unknown argument {shown(name)}."
        if not _fits(value, properties[name], schema):
            return f"Argument '{name}' does not fit: {shown(value)}."
    return ""


def _fits(value: Json, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _fits(value, root.get("$defs", {}).get(name, {}), root)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and not any(_fits(value, choice, root) for choice in choices):
        return False
    if "const" in schema and canonical(value) != canonical(schema["const"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not _is(value, schema["type"]):
        return False
    return _inside(value, schema, root)


def _inside(value: Json, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Say whether the members of a list or object fit."""
    if isinstance(value, list):
        return all(_fits(item, schema.get("items", {}), root) for item in value)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return all(name in value for name in schema.get("required", ())) and all(
            _fits(item, properties.get(name, {}), root) for name, item in value.items()
        )
    return True


def _is(value: Json, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    if isinstance(value, float) and value != value:
        return False
    return isinstance(value, _TYPES.get(kind, (object,))) and _is_text(value)


def _is_text(value: Json) -> bool:
    """Say whether a text can be encoded: lone surrogates are neither JSON nor UTF-8."""
    if not isinstance(value, str) or value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
