from __future__ import annotations

import re
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.monitors.sources import declared_tools, kind_of, resolved

WEATHER = {
    "name": "weather",
    "description": "The weather.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    "outputSchema": {"type": "object", "properties": {"celsius": {"$ref": "#/$defs/n"}},
                     "$defs": {"n": {"type": "number"}}},
}  # fmt: skip
PETS: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True,
                            "description": "between 1 and 5", "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "responses": {
                    "404": {"$ref": "#/components/responses/Missing"},
                    "200": {"content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Pet"}}}},
                },
            },
            "post": {
                "summary": "Change a pet.",
                "requestBody": {"content": {"application/json": {
                    "schema": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}}},
                "responses": {"default": {"description": "nothing"}},
            },
        }
    },
    "components": {
        "responses": {"Missing": {"description": "none"}},
        "schemas": {"Pet": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "integer"},
                           "parent": {"$ref": "#/components/schemas/Pet"}},
        }},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "wrap", [lambda t: t, lambda t: {"tools": t}, lambda t: {"result": {"tools": t}}]
)
def test_mcp_tools_in_every_wrapping(wrap: Any) -> None:
    document = wrap([WEATHER, {"name": "plain", "inputSchema": {"type": "object"}}])
    assert kind_of(document) == "mcp"
    first, second = declared_tools(document, "mcp", "")
    assert first.name == "weather" and first.description == "The weather."
    assert first.output["properties"] == {"celsius": {"type": "number"}}
    assert second.output == {}


def test_openapi_operations_with_references_and_a_schema_inside_itself() -> None:
    assert kind_of(PETS) == "openapi"
    get, post = declared_tools(PETS, "openapi", "")
    assert get.name == "getPet" and post.name == "POST /pets/{id}"
    assert get.output["properties"] == {"id": {"type": "integer"}, "parent": {}}
    assert get.parameters["properties"]["id"]["description"] == "between 1 and 5"
    assert get.parameters["required"] == ["id"]
    assert post.parameters["required"] == ["id", "name"] and post.output == {}


def test_swagger_2_has_its_keywords_elsewhere() -> None:
    operation = {
        "parameters": [{"name": "n", "in": "query", "type": "integer"}],
        "responses": {"201": {"schema": {"type": "object"}}},
    }
    (tool,) = declared_tools({"swagger": "2.0", "paths": {"/x": {"put": operation}}}, "openapi", "")
    assert tool.output == {"type": "object"}
    assert tool.parameters["properties"]["n"]["type"] == "integer"


def test_a_lone_schema_is_one_tool() -> None:
    schema = {"$schema": "x", "properties": {"a": {"$ref": "#/definitions/a"}},
              "definitions": {"a": {"enum": ["x"]}}}  # fmt: skip
    assert kind_of(schema) == "schema"
    (tool,) = declared_tools(schema, "schema", "mine")
    assert tool.name == "mine" and tool.output["properties"] == {"a": {"enum": ["x"]}}


def test_what_looks_like_records_is_an_export_unless_asked_otherwise() -> None:
    document = {"1": {"properties": 3}, "2": {}}
    assert kind_of(document) == "export" and kind_of(document, "mcp") == "mcp"
    with pytest.raises(UnknownNameError, match="'openapi'"):
        kind_of(document, "openap")


@pytest.mark.parametrize(
    ("document", "kind", "says"),
    [
        ({"tools": []}, "mcp", "no tool is declared"),
        ([{"inputSchema": {}}], "mcp", "needs a name"),
        ({"paths": [1]}, "openapi", "must be an object"),
        ([1], "schema", "must be an object"),
        ({"$ref": "http://x/y"}, "schema", "leads out of the file"),
        ({"$ref": "#/nowhere/at/all"}, "schema", "there is no 'nowhere'"),
    ],
)
def test_wrong_documents_say_why(document: Any, kind: Any, says: str) -> None:
    with pytest.raises(DataError, match=re.escape(says)):
        declared_tools(document, kind, "t")


def test_references_that_double_at_every_level_are_refused() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for n in range(1, 40):
        ref = {"$ref": f"#/d{n - 1}"}
        defs[f"d{n}"] = {"properties": {"a": ref, "b": ref}}
    with pytest.raises(DataError, match="when written out"):
        resolved({"$ref": "#/d39"}, defs)
