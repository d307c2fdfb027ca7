"""Tool specifications from BFCL's function documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Pattern
from bench2robust.core.types import ResultFields, ToolSpec
from bench2robust.domains.bfcl.corrections import true_path
from bench2robust.domains.bfcl.labels import TRANSFER, idempotent, kind_of
from bench2robust.domains.files import field

__all__ = ["TRANSFER_SPEC", "read_spec"]

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""BFCL's own type names, where JSON Schema has others."""
_STATES = {
    ("get_order_details", "status"): ("Pending", "Open", "Completed"),
    ("get_ticket", "status"): ("Open", "In Progress", "Resolved", "Closed"),
}
"""Fields with a life cycle and its states, earliest first (see ``stale``)."""

TRANSFER_SPEC = ToolSpec(
    TRANSFER,
    "Hand the user over to a human agent, and end the work. Use it only if the functions cannot do "
    "what the user asks for.",
    {
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "What is left to do, and why."}
        },
        "required": ["summary"],
    },
    "generic",
    faultable=False,
)


def read_spec(document: Json, owner: str, where: str) -> ToolSpec:
    """Return the tool that a function document describes.

    Args:
        owner: the class that has the function.
        where: what an error calls the document.

    Raises:
        DataError: the document lacks a field.
    """
    name: str = field(document, "name", str, where)
    parameters = _schema(field(document, "parameters", dict, where))
    parameters.setdefault("required", [])
    return ToolSpec(
        name,
        field(document, "description", str, where),
        parameters,
        kind_of(name, owner),
        _fields(name, field(document, "response", dict, where, optional=True)),
        idempotent=idempotent(name),
    )


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of BFCL's as JSON Schema."""
    made: dict[str, Any] = dict(schema)
    if "type" in made:
        made["type"] = _TYPES.get(made["type"], made["type"])
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: _schema(value) for key, value in made["properties"].items()}
    if isinstance(made.get("items"), dict):
        made["items"] = _schema(made["items"])
    return made


def _fields(tool: str, response: Mapping[str, Any]) -> ResultFields:
    """Return the decision-critical fields: contents everywhere, and amounts that are no ids."""
    documented = ((true_path(tool, path), kind) for path, kind in _leaves(response, ()))
    found = [(path, kind) for path, kind in documented if path is not None]
    states = {name: order for (owner, name), order in _STATES.items() if owner == tool}
    return ResultFields(
        contents=tuple(path for path, kind in found if kind in ("string", "array", "dict")),
        states=tuple((path, states[path[-1]]) for path, _ in found if path[-1] in states),
        amounts=tuple(
            path
            for path, kind in found
            if kind in ("float", "integer") and not path[-1].lower().endswith("id")
        ),
    )


def _leaves(schema: Mapping[str, Any], path: Pattern) -> Iterator[tuple[Pattern, str]]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict):
            yield (*path, name), str(inner.get("type"))
            yield from _leaves(inner, (*path, name))
            items = inner.get("items")
            if isinstance(items, dict):
                yield from _leaves(items, (*path, name, "*"))
