from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.declared import combined, declared_contract
from bench2robust.monitors.sources import DeclaredTool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["id", "items"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "state": {"enum": ["on", "off", None]},
        "note": {"type": ["string", "null"]},
        "items": {"type": "array", "items": {
            "type": "object",
            "required": ["price"],
            "properties": {"price": {"type": "number", "exclusiveMinimum": 0}},
        }},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "a/b*": {"type": "integer", "minimum": 1},
        "by_id": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}  # fmt: skip


def contract(schema: Any = SCHEMA) -> Contract:
    return declared_contract([DeclaredTool("t", "", {}, schema)])


def codes(value: Any, schema: Any = SCHEMA) -> list[tuple[str, str]]:
    found = Checker(contract(schema)).check_value("t", {}, value)
    return [(v.code, v.path) for v in found]


GOOD: list[Any] = [
    {"id": "1", "items": []},
    {"id": "1", "items": [{"price": 1}, {"price": 0.5, "more": 1}], "state": None, "note": None},
    {"id": "1", "items": [], "either": 3, "a/b*": 2, "by_id": {"x": 1, "y": 2}},
]
BAD: list[tuple[Any, list[tuple[str, str]]]] = [
    ([], [("learned_type_mismatch", "")]),
    ({"id": "1"}, [("missing_learned_field", "/items")]),
    ({"id": 1, "items": []}, [("learned_type_mismatch", "/id")]),
    ({"id": "1", "items": [], "x": 1}, [("unexpected_field", "/x")]),
    ({"id": "1", "items": [], "state": "lost"}, [("unseen_category", "/state")]),
    ({"id": "1", "items": [{"price": 0}]}, [("nonpositive_value", "/items/0/price")]),
    ({"id": "1", "items": [{}]}, [("missing_learned_field", "/items/0/price")]),
    ({"id": "1", "items": [], "either": []}, [("learned_type_mismatch", "/either")]),
    ({"id": "1", "items": [], "a/b*": 0}, [("nonpositive_value", "/a~1b*")]),
    (
        {"id": "1", "items": [], "by_id": {"order_100001": "y"}},
        [("learned_type_mismatch", "/by_id/order_100001")],
    ),
]


@pytest.mark.parametrize("value", GOOD)
def test_what_the_schema_accepts_the_contract_accepts(value: Any) -> None:
    assert jsonschema_rs.is_valid(SCHEMA, value) and codes(value) == []


@pytest.mark.parametrize(("value", "found"), BAD)
def test_what_the_schema_refuses_the_contract_names(value: Any, found: Any) -> None:
    assert not jsonschema_rs.is_valid(SCHEMA, value) and codes(value) == found


def test_older_dialects_and_parts() -> None:
    assert codes(None, {"type": "string", "nullable": True}) == []
    assert codes(0, {"type": "number", "minimum": 0, "exclusiveMinimum": True})
    parts = {"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "integer"}}}]}
    assert codes({"a": "x"}, parts) == [("learned_type_mismatch", "/a")]
    assert codes({}, parts) == [("missing_learned_field", "/a")]
    assert codes({"a": "x"}, {"const": 3, "type": "object"}) == []
    assert codes(4, {"const": 3}) == [("unseen_category", "")]


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "unicorn"}, {"type": 3}, {"properties": 3, "required": 3, "enum": 3, "items": 3},
     {"enum": [{"a": 1}]}, {"anyOf": [{"type": "string"}, {}]}, {"required": [3, None]}],
)  # fmt: skip
def test_what_says_nothing_that_a_contract_can_say_lets_all_pass(schema: Any) -> None:
    for value in (None, 3, "x", {"a": 1}):
        found = codes(value, schema)
        assert all(code == "learned_type_mismatch" for code, _ in found)
    assert not any(i.code == "unseen_category" for i in contract(schema).tools.get("t", ()))


def test_deep_schemas_end() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(500):
        schema = {"type": "array", "items": schema}
    assert contract(schema).covers("t")


def test_the_declared_holds_over_the_mined() -> None:
    mined = Contract(
        {
            "t": (
                Invariant("unseen_category", "/state", {"values": ["on"]}, 60),
                Invariant("nonpositive_value", "/total", {}, 60),
            ),
            "u": (Invariant("nonpositive_value", "/x", {}, 60),),
        },
        {"t": 60, "u": 60},
        "strict",
    )
    both = combined(mined, contract())
    states = [i for i in both.tools["t"] if i.path == "/state" and i.code == "unseen_category"]
    assert [(i.source, i.params["values"]) for i in states] == [("schema", ["on", "off"])]
    assert any(i.path == "/total" and i.source == "mined" for i in both.tools["t"])
    assert both.records == {"t": 60, "u": 60} and both.profile == "strict" and both.covers("u")
