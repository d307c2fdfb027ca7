"""The class ``order``: one order by its number, or summaries and the items."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.fallbacks.reading import Arguments, lenient
from bench2robust.domains.retail.fallbacks.user import LOOKUPS, read_user_id
from bench2robust.domains.retail.mentions import mentions

__all__ = ["ORDER"]


def _user_id(order_id: Json, known: Knowledge) -> str | None:
    """Return whose order it is: who is seen to have it, else the user dealt with last."""
    for thing in known.objects():
        orders = thing.get("orders")
        if isinstance(orders, list) and order_id in orders and "user_id" in thing:
            return str(thing["user_id"])
    for call, result in reversed(known.results):
        if call.name in LOOKUPS and read_user_id({}, [result]):
            return str(result)
        if "user_id" in call.arguments:
            return str(call.arguments["user_id"])
    return next(iter(mentions(known.text()).user_ids), None)


def _ask_summaries(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    user_id = _user_id(arguments.get("order_id"), known)
    return None if user_id is None else [ToolCall("get_orders_for_user", {"user_id": user_id})]


def _ask_summaries_and_items(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    calls = _ask_summaries(arguments, known)
    items = ToolCall("check_order_item_availability", {"order_id": arguments.get("order_id")})
    return None if calls is None else [*calls, items]


@lenient
def _read_summary(arguments: Arguments, results: list[Json]) -> Json | None:
    summary = next(s for s in results[0] if s["order_id"] == arguments["order_id"])
    payment = {
        "transaction_type": "payment",
        "amount": summary["total"],
        "payment_method_id": summary["payment_method_id"],
    }
    fields = {key: summary[key] for key in ("order_id", "user_id", "status")}
    return {**fields, "payment_history": [payment]}


@lenient
def _read_summary_and_items(arguments: Arguments, results: list[Json]) -> Json | None:
    order, items = _read_summary(arguments, results), _read_items(arguments, results)
    return None if order is None or items is None else {**order, **items}


def _ask_items(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    return [ToolCall("check_order_item_availability", {"order_id": arguments.get("order_id")})]


@lenient
def _read_items(arguments: Arguments, results: list[Json]) -> Json | None:
    keys = ("name", "product_id", "item_id", "price", "options")
    items = [{key: item[key] for key in keys} for item in results[-1]["items"]]
    return {"order_id": arguments["order_id"], "items": items}


def _ask_each_order(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    for thing in known.objects():
        orders = thing.get("orders")
        if thing.get("user_id") == arguments.get("user_id") and isinstance(orders, list):
            return [ToolCall("get_order_details", {"order_id": order}) for order in orders] or None
    return None


@lenient
def _read_orders(_: Arguments, results: list[Json]) -> Json | None:
    return [
        {
            "order_id": order["order_id"],
            "user_id": order["user_id"],
            "status": order["status"],
            "item_names": [item["name"] for item in order["items"]],
            "total": order["payment_history"][0]["amount"],
            "payment_method_id": order["payment_history"][0]["payment_method_id"],
        }
        for order in results
    ]


_ASK_WHO = "Could you tell me your name and zip code, or an order number?"
ORDER = FallbackClass(
    "order",
    ("get_order_details", "get_orders_for_user", "check_order_item_availability"),
    (
        FallbackPath(
            "get_order_details",
            "get_orders_for_user",
            "some",
            "summaries of all orders of the user: status, total, payment method, no item ids; "
            "add check_order_item_availability for the items with their ids; no address, no "
            "shipments",
            _ask_summaries_and_items,
            _read_summary_and_items,
            _ASK_WHO,
        ),
        FallbackPath(
            "get_order_details",
            "get_orders_for_user",
            "some",
            "summaries of all orders of the user: status, total, payment method; no item ids, no "
            "address, no shipments",
            _ask_summaries,
            _read_summary,
            _ASK_WHO,
        ),
        FallbackPath(
            "get_order_details",
            "check_order_item_availability",
            "some",
            "the items with their ids, options and prices; no status, payment, address or shipments",
            _ask_items,
            _read_items,
        ),
        FallbackPath(
            "get_orders_for_user",
            "get_order_details",
            "all",
            "one call for each order id that get_user_details lists",
            _ask_each_order,
            _read_orders,
            "Could you tell me the order number?",
        ),
    ),
)
