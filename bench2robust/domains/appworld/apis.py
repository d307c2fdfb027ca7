"""AppWorld's APIs as tools: their names, parameters and kinds, and the code that calls one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError
from bench2robust.core.types import ResultFields, ToolCall, ToolKind, ToolSpec
from bench2robust.domains.files import field, items

__all__ = ["Api", "call_code", "gold_calls", "read_apis"]

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_LOGIN = "/auth/token"
_LONGEST = 64
_WHOLE = ResultFields(contents=((),))
"""Of a read, the result as a whole: which of its numbers are ids, the documentation leaves open."""


class Api(NamedTuple):
    """One API: its tool, and where it is."""

    spec: ToolSpec
    app: str
    api: str
    method: str
    path: str


def read_apis(docs: Any, apps: Iterable[str] | None, where: str) -> dict[str, Api]:
    """Return the APIs of the documentation that ``GET /api_docs`` gives, by tool name.

    Args:
        apps: the apps to take; None for all.

    Raises:
        DataError: the documentation is not of the known form, or lacks an app.
    """
    if not isinstance(docs, dict):
        raise DataError(f"{where} must be an object by app, not {type(docs).__name__}")
    found: dict[str, Api] = {}
    for app in docs if apps is None else apps:
        for api, raw in field(docs, app, dict, where).items():
            made = _api(app, api, raw, f"{where}.{app}.{api}")
            found[made.spec.name] = made
    return found


def _api(app: str, api: str, raw: Any, where: str) -> Api:
    for name in (app, api):
        if not _NAME.fullmatch(name):  # it becomes part of code that the server runs
            raise DataError(f"{where}: {name!r} is no name of an app or API")
    method, path = field(raw, "method", str, where).upper(), field(raw, "path", str, where)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter, at in items(raw, "parameters", where, optional=True):
        name = field(parameter, "name", str, at)
        properties[name] = _parameter(parameter, at)
        if parameter.get("required"):
            required.append(name)
    kind: ToolKind = "read" if method == "GET" or path.endswith(_LOGIN) else "write"
    told = field(raw, "description", str, where, optional=True) or f"{api} of {app}"
    schema = {"type": "object", "properties": properties, "required": required}
    fields = _WHOLE if method == "GET" else ResultFields()
    spec = ToolSpec(f"{app}__{api}"[:_LONGEST], told, schema, kind, fields)
    return Api(spec, app, api, method, path if path.startswith(f"/{app}/") else f"/{app}{path}")


def _parameter(raw: Any, where: str) -> dict[str, Any]:
    told = field(raw, "description", str, where, optional=True)
    kind = field(raw, "type", str, where, optional=True)
    if kind.startswith("list["):
        return {"type": "array", "description": told}
    known = kind in ("string", "integer", "number", "boolean", "object")
    return {"type": kind, "description": told} if known else {"description": told}


def call_code(api: Api, arguments: Mapping[str, Json]) -> str:
    """Return the Python code that calls an API and prints what it returns.

    The arguments are JSON inside one string literal, so no text of an agent's is ever code.
    """
    text = orjson.dumps(arguments).decode()
    return f"print(apis.{api.app}.{api.api}(**json.loads({text!a})))"


def gold_calls(raw: Any, apis: Iterable[Api], where: str) -> tuple[ToolCall, ...]:
    """Return the recorded requests of a solution (``api_calls.json``) as calls.

    Raises:
        DataError: a request is of no known API, or not of the known form.
    """
    if not isinstance(raw, list):
        raise DataError(f"{where} must be a list of requests, not {type(raw).__name__}")
    patterns = [(api, _pattern(api.path)) for api in apis]
    calls = []
    for index, request in enumerate(raw):
        at = f"{where}[{index}]"
        method, url = field(request, "method", str, at).upper(), field(request, "url", str, at)
        data = field(request, "data", dict, at, optional=True)
        calls.append(_gold_call(method, url, data, patterns, at))
    return tuple(calls)


def _gold_call(
    method: str, url: str, data: dict[str, Json], patterns: list[tuple[Api, re.Pattern[str]]],
    where: str,
) -> ToolCall:  # fmt: skip
    for api, pattern in patterns:
        found = pattern.fullmatch(url) if api.method == method else None
        if found:
            properties = api.spec.parameters["properties"]
            parts = {name: _typed(text, properties.get(name, {}))
                     for name, text in found.groupdict().items()}  # fmt: skip
            return ToolCall(api.spec.name, {**parts, **data})
    raise DataError(f"{where}: {method} {url} is no API of the server's documentation")


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    return re.compile("".join(
        f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)
    ))  # fmt: skip


def _typed(text: str, schema: Mapping[str, Any]) -> Json:
    return int(text) if schema.get("type") == "integer" and text.isdecimal() else text
