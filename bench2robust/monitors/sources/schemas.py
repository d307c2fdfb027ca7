"""What tools declare about their results and arguments: MCP, OpenAPI and JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError, shown
from bench2robust.monitors.sources.documents import Kind

__all__ = ["DeclaredTool", "declared_tools", "resolved"]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MOST_NODES = 200_000
"""Schema nodes that one schema may grow to when its references are written out."""
_MOST_DEPTH = 60


class DeclaredTool(NamedTuple):
    """A tool and the schemas that it publishes; ``{}`` (anything) where it publishes none.

    Attributes:
        parameters: JSON Schema of the arguments.
        output: JSON Schema of the result.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    output: Mapping[str, Json]


def declared_tools(document: Json, kind: Kind, name: str) -> list[DeclaredTool]:
    """Return the tools that a document declares, references within it written out.

    Args:
        name: what the tool of a lone JSON Schema is called.

    Raises:
        DataError: it declares none, or a reference leads nowhere.
    """
    if kind == "mcp":
        found = list(_mcp(document))
    elif kind == "openapi":
        found = list(_openapi(document))
    else:
        found = [DeclaredTool(name, "", {}, resolved(_object(document, "schema"), document))]
    if not found:
        raise DataError(f"no tool is declared there ({kind}).")
    return found


def _mcp(document: Json) -> Iterator[DeclaredTool]:
    tools = document
    while isinstance(tools, dict):
        tools = tools.get("tools", tools.get("result"))
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise DataError(f"a tool needs a name, {shown(tool)} has none.")
        parameters, output = (
            resolved(_object(tool.get(key) or {}, key), tool.get(key))
            for key in ("inputSchema", "outputSchema")
        )
        yield DeclaredTool(tool["name"], str(tool.get("description", "")), parameters, output)


def _openapi(document: Json) -> Iterator[DeclaredTool]:
    for path, item in _object(document.get("paths", {}), "paths").items():
        item = resolved(_object(item, path), document)
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                name = operation.get("operationId") or f"{method.upper()} {path}"
                about = operation.get("description") or operation.get("summary") or ""
                yield DeclaredTool(
                    str(name), str(about), _arguments(operation, item), _success(operation)
                )


def _arguments(operation: Mapping[str, Json], item: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of the parameters and of the fields of a JSON body, together."""
    properties: dict[str, Json] = {}
    required = []
    for parameter in (*_list(item.get("parameters")), *_list(operation.get("parameters"))):
        name = parameter.get("name")
        if isinstance(name, str):
            schema = parameter.get("schema", parameter)  # Swagger 2 has the keywords right here
            about = parameter.get("description")
            schema = dict(schema) if isinstance(schema, dict) else {}
            properties[name] = schema | ({"description": about} if about else {})
            if parameter.get("required") is True:
                required.append(name)
    body = _content(operation.get("requestBody"))
    if isinstance(body.get("properties"), dict):
        properties |= body["properties"]
        required += _list(body.get("required"), str)
    return {"type": "object", "properties": properties, "required": required}


def _success(operation: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of the JSON body of the first response that means success."""
    responses = operation.get("responses")
    if not isinstance(responses, dict):
        return {}
    order = sorted((c for c in map(str, responses) if c.startswith("2")), key=lambda c: (c, len(c)))
    by_code = {str(code): response for code, response in responses.items()}
    for code in (*order, "default"):
        if schema := _content(by_code.get(code)):
            return schema
    return {}


def _content(message: Json) -> dict[str, Json]:
    if not isinstance(message, dict):
        return {}
    if isinstance(message.get("schema"), dict):  # Swagger 2
        return dict(message["schema"])
    content = message.get("content")
    for media, body in content.items() if isinstance(content, dict) else ():
        if "json" in str(media) and isinstance(body, dict) and isinstance(body.get("schema"), dict):
            return dict(body["schema"])
    return {}


def _list(value: Json, kind: type = dict) -> list[Json]:
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def _object(value: Json, what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be an object, not {shown(value)}.")
    return value


def resolved(schema: Mapping[str, Json], root: Json) -> dict[str, Json]:
    """Return a schema with every reference into ``root`` written out.

    A schema that contains itself means anything at that place.

    Raises:
        DataError: a reference leads out of the document or nowhere, or the result would be huge.
    """
    found: dict[str, Json] = _Resolver(root).write_out(dict(schema), (), 0)
    return found


class _Resolver:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._nodes = 0

    def write_out(self, node: Json, inside: tuple[str, ...], depth: int) -> Json:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise DataError(f"a schema has more than {_MOST_NODES:,} parts when written out.")
        if isinstance(node, list):
            return [self.write_out(item, inside, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in inside or depth > _MOST_DEPTH:
                return {}
            target = self._find(reference)
            return self.write_out(target, (*inside, reference), depth + 1)
        return {key: self.write_out(item, inside, depth + 1) for key, item in node.items()}

    def _find(self, reference: str) -> Json:
        if not reference.startswith("#"):
            raise DataError(f"$ref {shown(reference)} leads out of the file: write it out first.")
        node = self._root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~").replace("%7B", "{")
            if isinstance(node, dict) and step in node:
                node = node[step]
            else:
                raise DataError(f"$ref {shown(reference)} leads nowhere: there is no {step!r}.")
        return node
