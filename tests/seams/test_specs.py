"""What is read off a tool of somebody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.types import ResultFields
from bench2robust.injectors.fields import critical_fields, fields_of_result
from bench2robust.injectors.profiles import load_profile
from bench2robust.seams.specs import fields_of_schema, kind_of_name, mcp_tool, unknown_tool
from tests.seams.shop import ORDER, SCHEMA


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("get_order", "read"),
        ("getOrder", "read"),
        ("order_status", "read"),
        ("git_log", "read"),
        ("HTTPFetch", "read"),
        ("cancel_order", "write"),
        ("get_and_delete", "read"),
        ("deleteAndGet", "write"),
        ("do", "write"),
        ("", "write"),
    ],
)
def test_a_kind_is_guessed_from_the_name(name: str, kind: str) -> None:
    assert kind_of_name(name) == kind


def test_what_a_server_says_holds_over_the_name() -> None:
    said: dict[str, Any] = {"name": "get_order", "annotations": {"readOnlyHint": False}}
    assert mcp_tool(said).spec.kind == "write"
    assert mcp_tool({"name": "drop", "annotations": {"readOnlyHint": True}}).spec.kind == "read"


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {"$ref": "#/no"}, {"properties": 3}])
def test_what_is_not_well_formed_says_nothing(wrong: Any) -> None:
    fields = ("inputSchema", "outputSchema", "annotations", "description")
    tool = mcp_tool({"name": "t", **dict.fromkeys(fields, wrong)})
    assert tool.spec.fields == ResultFields() and tool.spec.derived


def test_a_schema_declares_contents_states_and_amounts() -> None:
    assert fields_of_schema(SCHEMA) == ResultFields(
        contents=(("items",),),
        states=((("status",), ("pending", "processed", "delivered")),),
        amounts=(("total",),),
    )


def test_states_of_a_common_life_cycle_come_in_its_order_and_others_as_written() -> None:
    def order(*values: str) -> tuple[str, ...]:
        schema = {"properties": {"s": {"type": "string", "enum": [*values]}}}
        ((_, found),) = fields_of_schema(schema).states
        return found

    assert order("delivered", "pending", "shipped") == ("pending", "shipped", "delivered")
    assert order("warm", "cold") == ("warm", "cold")


def test_a_schema_that_contains_itself_is_read_to_its_end() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "number"}}}
    node["properties"]["next"] = {"$ref": "#/$defs/node"}
    tool = mcp_tool({"name": "t", "outputSchema": {**node, "$defs": {"node": node}}})
    assert ("next", "size") in tool.spec.fields.amounts


def test_fields_are_read_off_a_result() -> None:
    assert fields_of_result(ORDER) == ResultFields(
        contents=(("items",),),
        states=((("status",), ("pending", "processing", "processed", "shipped", "in_transit",
                               "delivered")),),
        amounts=(("total",),),
    )  # fmt: skip
    assert fields_of_result('[{"id": 12, "n": 1}]').amounts == (("*", "n"),)
    assert fields_of_result("prose").contents == ((),)
    assert fields_of_result("{broken").contents == ((),)


def test_what_a_schema_leaves_open_is_read_off_the_result() -> None:
    schema = {"properties": {"items": {"type": "array"}, "status": {"type": "string"}}}
    spec = mcp_tool({"name": "t", "outputSchema": schema}).spec
    found = critical_fields(spec, ORDER)
    assert found.contents == (("items",),) and found.amounts == (("total",),)
    assert unknown_tool("t").derived


def test_the_example_plan_is_valid() -> None:
    plan = load_profile(Path(__file__).parents[2] / "configs" / "faults" / "schedule.yaml")
    assert plan.clean == 0.95 and len(plan.schedule) == 5
    assert plan.named_tools() == {"search", "get_order", "list_items", "cancel_order"}
