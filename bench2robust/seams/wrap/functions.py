"""Plain Python functions as tools: what is known of them, and their twins with a seam around."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints, is_typeddict

from bench2robust.core.canonical import Json
from bench2robust.core.errors import UsageError, shown
from bench2robust.seams.seam import Seam
from bench2robust.seams.specs import Tool, mcp_tool
from bench2robust.seams.wrap.carrying import carry, carry_async

__all__ = ["Function", "declared", "described", "wrapped"]

Function = Callable[..., Any]

_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def described(function: Function) -> Tool:
    """Return what a function says of itself: its name, signature, docstring and return type."""
    name = getattr(function, "__name__", None) or type(function).__name__
    hints = _hints(function)
    entry = {
        "name": name,
        "description": inspect.getdoc(function) or "",
        "inputSchema": _parameters(function, hints),
        "outputSchema": _output(hints.get("return")),
    }
    return mcp_tool(entry)


def declared(entry: Mapping[str, Any]) -> Tool:
    """Return a tool from a dict in OpenAI's form, with or without ``{"type": "function"}`` around.

    Raises:
        UsageError: it has no name.
    """
    function = entry.get("function", entry)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UsageError(f"A tool dict needs a name; {shown(entry)} has none.")
    return mcp_tool({**function, "inputSchema": function.get("parameters")})


def _is_async(function: Function) -> bool:
    """Say whether calling a function gives an awaitable."""
    call = getattr(function, "__call__", None)  # noqa: B004  # an object with an async __call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def wrapped(seam: Seam, name: str, function: Function) -> Function:
    """Return the twin of a function whose calls go through a seam; its signature is the same."""
    signature = _signature(function)

    @functools.wraps(function)
    def twin(*args: Any, **kwargs: Any) -> Any:
        arguments = _named(signature, args, kwargs)
        return carry(seam, name, arguments, lambda: function(*args, **kwargs))

    @functools.wraps(function)
    async def async_twin(*args: Any, **kwargs: Any) -> Any:
        arguments = _named(signature, args, kwargs)
        return await carry_async(seam, name, arguments, lambda: function(*args, **kwargs))

    return async_twin if _is_async(function) else twin


def _named(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments by name, those that were given only."""
    if signature is None or not args:
        return kwargs
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:  # the function itself is going to say so
        return kwargs


def _signature(function: Function) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _hints(function: Function) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # a hint may name anything, also what is not there at run time
        return {}


def _parameters(function: Function, hints: Mapping[str, Any]) -> dict[str, Json]:
    signature = _signature(function)
    parameters = signature.parameters if signature is not None else {}
    properties = {
        name: {"type": _TYPES[hints[name]]} if hints.get(name) in _TYPES else {}
        for name in parameters
    }
    required = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
    return {"type": "object", "properties": properties, "required": required}


def _output(hint: Any) -> dict[str, Json]:
    """Return the JSON Schema of a return type that says more than its kind; else nothing."""
    if hint is None or hint in _TYPES:
        return {}
    schema = _schema(hint)
    return schema if {"properties", "$ref", "items"} & schema.keys() else {}


def _schema(hint: Any) -> dict[str, Json]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    if is_typeddict(hint):  # pydantic reads those of `typing` from Python 3.12 on only
        hints = _hints(hint)
        properties = {key: _schema(part) for key, part in hints.items()}
        required = sorted(hint.__required_keys__)
        return {"type": "object", "properties": properties, "required": required}
    try:
        return TypeAdapter(hint).json_schema(mode="serialization")
    except (PydanticUserError, TypeError, NameError):
        return {}
