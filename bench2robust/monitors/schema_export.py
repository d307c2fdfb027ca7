"""A contract as JSON Schema, for every tool that reads it."""

from __future__ import annotations

from typing import Any

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.pointers import EACH, EVERY, split, unescape

__all__ = ["DIALECT", "to_json_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RELATIONS = "x-outcome-invariants"
"""Where invariants stand that JSON Schema cannot say (echoes, relations between fields)."""


def to_json_schema(contract: Contract, tool: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a tool's results.

    It accepts every result that the contract accepts, and refuses every result that breaks an
    invariant of shape, domain or sign.

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
    steps, code, params = split(invariant.path), invariant.code, invariant.params
    if code == "missing_learned_field":
        required = _at(root, steps[:-1]).setdefault("required", [])
        required.append(unescape(steps[-1]))
    elif code == "unexpected_field":
        place = _at(root, steps)
        known = place.setdefault("properties", {})
        for key in params["keys"]:
            known.setdefault(key, {})
        place["additionalProperties"] = False
    elif code == "learned_type_mismatch":
        _at(root, steps)["type"] = _types(params["types"])
    elif code == "nonpositive_value":
        _at(root, steps)["exclusiveMinimum"] = 0
    elif code == "unseen_category" and "normalize" not in params:
        _at(root, steps)["enum"] = list(params["values"])
    else:
        row = {"code": code, "path": invariant.path, **params}
        root.setdefault(RELATIONS, []).append(row)


def _types(names: Any) -> Any:
    return names[0] if len(names) == 1 else list(names)


def _at(schema: dict[str, Any], steps: tuple[str, ...]) -> dict[str, Any]:
    for step in steps:
        if step == EACH:
            schema = schema.setdefault("items", {})
        elif step == EVERY:
            schema = schema.setdefault("additionalProperties", {})
        else:
            schema = schema.setdefault("properties", {}).setdefault(unescape(step), {})
    return schema
