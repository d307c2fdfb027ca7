from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.core.types import ToolResult

Call = Callable[..., ToolResult]
Fetch = Callable[..., Any]


def test_a_product_by_name_is_the_same_record(call: Call) -> None:
    by_id = call("get_product_details", product_id="1000000000")
    assert call("search_product_by_name", name=" desk LAMP ") == by_id
    assert call("search_product_by_name", name="lamp").content == "Error: Product not found"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"color": "white", "power": "usb"}, "1000000002"),
        ({"power": "battery", "color": "white"}, "1000000004"),
        ({"color": "red"}, "Error: Item not found"),
        ({"color": "black"}, "Error: 2 items match; also give: power"),
        ({}, "Error: 4 items match; also give: color, power"),
    ],
)
def test_an_item_by_its_options(call: Call, options: dict[str, str], found: str) -> None:
    result = call("get_item_by_product_options", product_name="desk lamp", options=options)
    if not result.is_error:
        assert result == call("get_item_details", item_id=found)
    else:
        assert result.content == found


def test_summaries_have_no_item_ids_and_are_live(call: Call, fetch: Fetch) -> None:
    def first() -> dict[str, Any]:
        summary: dict[str, Any] = fetch("get_orders_for_user", user_id="ann_roe_1111")[0]
        return summary

    expected = {
        "order_id": "#W10001",
        "user_id": "ann_roe_1111",
        "status": "pending",
        "item_names": ["Desk Lamp", "Mug"],
        "total": 60.1,
        "payment_method_id": "gift_card_1",
    }
    assert first() == expected
    fetch("cancel_pending_order", order_id="#W10001", reason="no longer needed")
    assert first() == {**expected, "status": "cancelled"}
    assert call("get_orders_for_user", user_id="nobody").content == "Error: User not found"


def test_availability_has_the_items_and_what_they_can_be_exchanged_for(
    call: Call, fetch: Fetch
) -> None:
    lamp, mug = fetch("check_order_item_availability", order_id="#W10001")["items"]
    assert (lamp["item_id"], lamp["product_id"], lamp["name"]) == (
        "1000000001",
        "1000000000",
        "Desk Lamp",
    )
    available = [v["item_id"] for v in lamp["available_variants"]]
    assert available == ["1000000001", "1000000002", "1000000003"]
    assert mug["available_variants"][1] == {
        "item_id": "2000000002",
        "options": {"size": "large"},
        "price": 12.5,
    }
    fetch(
        "modify_pending_order_items",
        order_id="#W10001",
        item_ids=["2000000001"],
        new_item_ids=["2000000002"],
        payment_method_id="paypal_1",
    )
    mug = fetch("check_order_item_availability", order_id="#W10001")["items"][1]
    assert (mug["item_id"], mug["price"]) == ("2000000002", 12.5)
    missing = call("check_order_item_availability", order_id="#W1")
    assert missing.content == "Error: Order not found"


def test_the_user_by_an_order(call: Call) -> None:
    assert call("get_user_by_order", order_id="#W10004") == ToolResult("ann_roe_2222")
    assert call("get_user_by_order", order_id="#W9").content == "Error: Order not found"
