from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.session import RetailSession

Call = Callable[..., ToolResult]
Fetch = Callable[..., Any]
ADDRESS = {
    "address1": "2 Oak Street",
    "address2": "Apt 3",
    "city": "Boulder",
    "state": "CO",
    "country": "USA",
    "zip": "80009",
}


def balance(fetch: Fetch, user_id: str = "ann_roe_1111") -> float:
    amount: float = fetch("get_user_details", user_id=user_id)["payment_methods"]["gift_card_1"][
        "balance"
    ]
    return amount


def test_a_read_returns_the_complete_record(fetch: Fetch) -> None:
    order = fetch("get_order_details", order_id="#W10005")
    assert order["items"][0]["price"] == 10.0
    assert isinstance(order["items"][0]["price"], float)
    assert [order[key] for key in ("cancel_reason", "return_items")] == [None, None]
    assert fetch("get_product_details", product_id="2000000000")["name"] == "Mug"
    assert fetch("get_item_details", item_id="1000000003")["price"] == 40.35
    assert fetch("list_all_product_types") == {"Desk Lamp": "1000000000", "Mug": "2000000000"}


def test_untouched_records_are_one_shared_text(domain: RetailDomain) -> None:
    task = domain.task("0")
    read = ToolCall("get_order_details", {"order_id": "#W10001"})
    assert domain.session(task).call(read).content is domain.session(task).call(read).content


def test_users_are_found_whatever_the_case_and_first_in_order(call: Call) -> None:
    assert call("find_user_id_by_email", email="ANN@example.COM").content == "ann_roe_1111"
    found = call("find_user_id_by_name_zip", first_name="aNN", last_name="ROE", zip="80001")
    assert found == ToolResult("ann_roe_1111")
    missing = call("find_user_id_by_email", email="no@example.com")
    assert missing == ToolResult("Error: User not found", is_error=True)


def test_the_name_and_zip_index_follows_moved_users(call: Call) -> None:
    def who(zip_code: str) -> str:
        return call(
            "find_user_id_by_name_zip", first_name="Ann", last_name="Roe", zip=zip_code
        ).content

    assert who("80009") == "Error: User not found"
    call("modify_user_address", user_id="ann_roe_1111", **ADDRESS)
    assert (who("80009"), who("80001")) == ("ann_roe_1111", "ann_roe_2222")
    call("modify_user_address", user_id="ann_roe_3333", **{**ADDRESS, "zip": "80001"})
    assert who("80001") == "ann_roe_2222"
    call("modify_user_address", user_id="ann_roe_2222", **ADDRESS)
    assert (who("80009"), who("80001")) == ("ann_roe_1111", "ann_roe_3333")


def test_cancelling_refunds_to_the_gift_card_once(call: Call, fetch: Fetch) -> None:
    order = fetch("cancel_pending_order", order_id="#W10001", reason="ordered by mistake")
    assert (order["status"], order["cancel_reason"]) == ("cancelled", "ordered by mistake")
    assert order["payment_history"][1] == {
        "transaction_type": "refund",
        "amount": 60.1,
        "payment_method_id": "gift_card_1",
    }
    assert balance(fetch) == 160.1
    again = call("cancel_pending_order", order_id="#W10001", reason="ordered by mistake")
    assert again.content == "Error: Non-pending order cannot be cancelled"
    assert balance(fetch) == 160.1


def test_cancelling_another_payment_leaves_the_gift_card(session: RetailSession) -> None:
    cancel = ToolCall("cancel_pending_order", {"order_id": "#W10004", "reason": "no longer needed"})
    assert not session.call(cancel).is_error
    assert list(session.delta()) == ["orders/#W10004"]


def test_modified_items_all_get_the_last_variants_price_and_options(fetch: Fetch) -> None:
    order = fetch(
        "modify_pending_order_items",
        order_id="#W10003",
        item_ids=["1000000001", "1000000001"],
        new_item_ids=["1000000002", "1000000003"],
        payment_method_id="gift_card_1",
    )
    assert [item["item_id"] for item in order["items"]] == ["1000000002", "1000000003"]
    assert [item["price"] for item in order["items"]] == [40.35, 40.35]
    assert order["items"][0]["options"] == {"color": "black", "power": "battery"}
    assert order["status"] == "pending (item modified)"
    # The charge is not rounded, the balance is.
    difference = (60.2 - 50.1) + (40.35 - 50.1)
    assert order["payment_history"][-1]["amount"] == difference != round(difference, 2)
    assert balance(fetch) == 99.65


def test_exchange_rounds_the_difference_and_sorts_the_items(fetch: Fetch) -> None:
    order = fetch(
        "exchange_delivered_order_items",
        order_id="#W10002",
        item_ids=["2000000001", "1000000001"],
        new_item_ids=["2000000002", "1000000002"],
        payment_method_id="paypal_1",
    )
    assert order["status"] == "exchange requested"
    assert order["exchange_items"] == ["1000000001", "2000000001"]
    assert order["exchange_new_items"] == ["1000000002", "2000000002"]
    assert order["exchange_price_difference"] == 12.6
    assert balance(fetch) == 100.0


def test_return_accepts_the_original_method_or_a_gift_card(call: Call, fetch: Fetch) -> None:
    wanted = {"order_id": "#W10002", "item_ids": ["1000000001"]}
    other = call("return_delivered_order_items", **wanted, payment_method_id="credit_card_1")
    assert other.content == "Error: Payment method should be the original payment method"
    order = fetch("return_delivered_order_items", **wanted, payment_method_id="gift_card_1")
    assert (order["status"], order["return_items"]) == ("return requested", ["1000000001"])


def test_payment_moves_from_one_method_to_the_other(call: Call, fetch: Fetch) -> None:
    order = fetch("modify_pending_order_payment", order_id="#W10001", payment_method_id="paypal_1")
    kinds = [(p["transaction_type"], p["payment_method_id"]) for p in order["payment_history"]]
    assert kinds == [
        ("payment", "gift_card_1"),
        ("payment", "paypal_1"),
        ("refund", "gift_card_1"),
    ]
    assert balance(fetch) == 160.1
    again = call("modify_pending_order_payment", order_id="#W10001", payment_method_id="paypal_1")
    assert again.content == "Error: There should be exactly one payment for a pending order"
    fetch("modify_pending_order_payment", order_id="#W10003", payment_method_id="gift_card_1")
    assert balance(fetch) == 59.9


def test_a_modified_order_is_still_pending_for_its_address_only(call: Call, fetch: Fetch) -> None:
    fetch(
        "modify_pending_order_items",
        order_id="#W10001",
        item_ids=["2000000001"],
        new_item_ids=["2000000002"],
        payment_method_id="paypal_1",
    )
    order = fetch("modify_pending_order_address", order_id="#W10001", **ADDRESS)
    assert order["address"] == ADDRESS
    assert call("cancel_pending_order", order_id="#W10001", reason="no longer needed").is_error


SWAP = {"order_id": "#W10001", "item_ids": ["1000000001"], "payment_method_id": "paypal_1"}
LAMPS = {**SWAP, "order_id": "#W10002"}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get_order_details", {"order_id": "W10001"}, "Order not found"),
        ("get_user_details", {"user_id": ""}, "User not found"),
        ("get_product_details", {"product_id": "1000000001"}, "Product not found"),
        ("get_item_details", {"item_id": "1000000000"}, "Item not found"),
        ("cancel_pending_order", {"order_id": "#W10001", "reason": "bored"}, "Invalid reason"),
        (
            "modify_pending_order_items",
            {**SWAP, "new_item_ids": ["1000000001"]},
            "The new item id should be different from the old item id",
        ),
        (
            "modify_pending_order_items",
            {**SWAP, "new_item_ids": ["2000000001"]},
            "Variant not found",
        ),
        (
            "modify_pending_order_items",
            {**SWAP, "new_item_ids": ["1000000004"]},
            "New item 1000000004 not found or available",
        ),
        (
            "modify_pending_order_items",
            {**SWAP, "new_item_ids": []},
            "The number of items to be exchanged should match",
        ),
        (
            "modify_pending_order_items",
            {**SWAP, "item_ids": ["1000000001"] * 2, "new_item_ids": ["1000000002"] * 2},
            "1000000001 not found",
        ),
        (
            "modify_pending_order_items",
            {**SWAP, "new_item_ids": ["1000000002"], "payment_method_id": "paypal_9"},
            "Payment method not found",
        ),
        (
            "modify_pending_order_items",
            {
                "order_id": "#W10004",
                "item_ids": ["1000000001"],
                "new_item_ids": ["1000000002"],
                "payment_method_id": "gift_card_1",
            },
            "Insufficient gift card balance to pay for the new item",
        ),
        (
            "exchange_delivered_order_items",
            {**LAMPS, "new_item_ids": []},
            "The number of items to be exchanged should match.",
        ),
        (
            "exchange_delivered_order_items",
            {**LAMPS, "item_ids": ["7"], "new_item_ids": ["7"]},
            "Number of 7 not found.",
        ),
        (
            "exchange_delivered_order_items",
            {**SWAP, "new_item_ids": ["1000000002"]},
            "Non-delivered order cannot be exchanged",
        ),
        ("return_delivered_order_items", {**LAMPS, "item_ids": ["7"]}, "Some item not found"),
        ("return_delivered_order_items", SWAP, "Non-delivered order cannot be returned"),
        (
            "modify_pending_order_payment",
            {"order_id": "#W10004", "payment_method_id": "paypal_1"},
            "The new payment method should be different from the current one",
        ),
        (
            "modify_pending_order_payment",
            {"order_id": "#W10004", "payment_method_id": "gift_card_1"},
            "Insufficient gift card balance to pay for the order",
        ),
        (
            "modify_pending_order_payment",
            {"order_id": "#W10005", "payment_method_id": "gift_card_1"},
            "Non-pending order cannot be modified",
        ),
        (
            "modify_pending_order_address",
            {"order_id": "#W10002", **ADDRESS},
            "Non-pending order cannot be modified",
        ),
        ("calculate", {"expression": "2 + x"}, "Invalid characters in expression"),
        ("think", {}, "Tool 'think' not found."),
        ("get_order_details", {}, "Missing argument 'order_id'."),
        ("get_order_details", {"order_id": 1}, "Argument 'order_id' must be a string."),
        ("get_order_details", {"order_id": "#W10001", "x": 1}, "Unknown argument 'x'."),
        ("get_order_details", {"order_id": "\ud800"}, "Argument 'order_id' must be a string."),
        (
            "return_delivered_order_items",
            {**LAMPS, "item_ids": "1000000001"},
            "Argument 'item_ids' must be a list of strings.",
        ),
    ],
)
def test_refusals_name_the_cause_and_change_nothing(
    session: RetailSession, name: str, arguments: dict[str, Any], message: str
) -> None:
    result = session.call(ToolCall(name, arguments))
    assert result == ToolResult(f"Error: {message}", is_error=True)
    assert (session.revision, session.delta()) == (0, {})


def test_what_the_agent_sent_is_quoted_as_encodable_text(session: RetailSession) -> None:
    result = session.call(ToolCall("\ud800", {}))
    assert result.content.encode() == b"Error: Tool '\\ud800' not found."


def test_the_transfer_and_sums(call: Call) -> None:
    assert call("transfer_to_human_agents", summary="angry").content == "Transfer successful"
    assert call("calculate", expression="(1 + 2) * 3.5").content == "10.5"


def test_revision_rises_only_with_real_changes(
    session: RetailSession, domain: RetailDomain
) -> None:
    here = {"user_id": "ann_roe_1111"}
    address = {**ADDRESS, "zip": "80001"}
    session.call(ToolCall("get_user_details", here))
    session.call(ToolCall("cancel_pending_order", {"order_id": "#W10005", "reason": "?"}))
    assert session.revision == 0
    session.call(ToolCall("modify_user_address", here | address))
    first = session.revision
    session.call(ToolCall("modify_user_address", here | address))
    assert session.revision == first > 0
    back = {**address, "address1": "1 Elm Street", "address2": "", "city": "Denver"}
    session.call(ToolCall("modify_user_address", here | back))
    assert session.revision > first
    assert session.delta() == domain.session(domain.task("0")).delta() == {}


def test_the_delta_holds_what_differs(session: RetailSession) -> None:
    session.call(
        ToolCall("cancel_pending_order", {"order_id": "#W10001", "reason": "no longer needed"})
    )
    delta = session.delta()
    assert list(delta) == ["users/ann_roe_1111", "orders/#W10001"]
    assert orjson.loads(delta["orders/#W10001"])["status"] == "cancelled"


def test_sessions_do_not_see_one_another(domain: RetailDomain) -> None:
    one, two = (domain.session(domain.task("0")) for _ in range(2))
    read = ToolCall("get_order_details", {"order_id": "#W10001"})
    before = two.call(read)
    one.call(
        ToolCall("cancel_pending_order", {"order_id": "#W10001", "reason": "no longer needed"})
    )
    assert two.call(read) == before != one.call(read)


def test_alternatives_are_absent_unless_asked_for(domain: RetailDomain) -> None:
    plain = domain.session(domain.task("0"))
    assert (len(plain.tools), len(domain.tools(alternatives=True))) == (16, 21)
    asked = plain.call(ToolCall("get_user_by_order", {"order_id": "#W10001"}))
    assert asked.content == "Error: Tool 'get_user_by_order' not found."
