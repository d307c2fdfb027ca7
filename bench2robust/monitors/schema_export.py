"""A contract as JSON Schema, for every tool that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.nodes import KINDS
from bench2robust.monitors.pointers import EACH, EVERY, split, unescape

__all__ = ["DIALECT", "RELATIONS", "keys_to", "place_in", "to_json_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RELATIONS = "x-outcome-invariants"
"""Where invariants stand that JSON Schema cannot say (echoes, relations between fields)."""


def to_json_schema(contract: Contract, tool: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a tool's results.

    It accepts every result that the contract accepts, but for a category in another case of
    letters, and refuses every result that breaks an invariant of shape, domain or sign.

    Raises:
        UnknownNameError: the contract has no such tool.
    """
    if tool not in contract.tools:
        raise UnknownNameError("tool", tool, contract.tools)
    root: dict[str, Any] = {"$schema": DIALECT, "title": tool}
    for invariant in contract.tools[tool]:
        _add(root, invariant)
    return root


def _add(root: dict[str, Any], invariant: Invariant) -> None:
    path, code, params = invariant.path, invariant.code, invariant.params
    if code == "missing_learned_field":
        parent, _, step = path.rpartition("/")
        place_in(root, parent).setdefault("required", []).append(unescape(step))
    elif code == "unexpected_field":
        place = place_in(root, path)
        known = place.setdefault("properties", {})
        for key in params["keys"]:
            known.setdefault(key, {})
        place["additionalProperties"] = False
    elif code == "learned_type_mismatch":
        place_in(root, path)["type"] = _types(params["types"])
    elif code == "nonpositive_value":
        place_in(root, path)["exclusiveMinimum"] = 0
    elif code == "unseen_category":
        _domain(place_in(root, path), list(params["values"]))
    else:
        row = {"code": code, "path": path, **params}
        root.setdefault(RELATIONS, []).append(row)


def _domain(place: dict[str, Any], values: list[Any]) -> None:
    """Restrict the values of one type; an enum would also refuse those of every other type."""
    names = sorted({KINDS[type(value)] for value in values})
    if place.get("type") in names:
        place["enum"] = values
    else:
        rule = {"if": {"type": _types(names)}, "then": {"enum": values}}
        place.setdefault("allOf", []).append(rule)


def _types(names: Any) -> Any:
    return names[0] if len(names) == 1 else list(names)


def keys_to(path: str) -> Iterator[str]:
    """Yield the keys that lead from a schema to that of a contract path."""
    for step in split(path):
        if step == EACH:
            yield "items"
        elif step == EVERY:
            yield "additionalProperties"
        else:
            yield from ("properties", unescape(step))


def place_in(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schema at a contract path, made where there is none."""
    for key in keys_to(path):
        below = schema.get(key)
        if not isinstance(below, dict):
            below = schema[key] = {}
        schema = below
    return schema
