"""A small store of our own, in τ²-bench's schema, and a way to call its tools."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from bench2robust.core.types import Task, ToolCall, ToolResult, UserScript
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.records import checked
from bench2robust.domains.retail.session import RetailSession

Record = dict[str, Any]


def _variant(item_id: str, options: dict[str, str], price: float, available: bool = True) -> Record:
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def _product(product_id: str, name: str, *variants: Record) -> Record:
    return {
        "name": name,
        "product_id": product_id,
        "variants": {v["item_id"]: v for v in variants},
    }


LAMP = _product(
    "1000000000",
    "Desk Lamp",
    _variant("1000000001", {"color": "black", "power": "usb"}, 50.1),
    _variant("1000000002", {"color": "white", "power": "usb"}, 60.2),
    _variant("1000000003", {"color": "black", "power": "battery"}, 40.35),
    _variant("1000000004", {"color": "white", "power": "battery"}, 99.0, available=False),
)
MUG = _product(
    "2000000000",
    "Mug",
    _variant("2000000001", {"size": "small"}, 10),
    _variant("2000000002", {"size": "large"}, 12.5),
)


def _address(zip_code: str) -> Record:
    return {
        "address1": "1 Elm Street",
        "address2": "",
        "city": "Denver",
        "state": "CO",
        "country": "USA",
        "zip": zip_code,
    }


def _user(user_id: str, email: str, zip_code: str, balance: float, *orders: str) -> Record:
    first, last, _ = user_id.split("_")
    return {
        "user_id": user_id,
        "name": {"first_name": first.capitalize(), "last_name": last.capitalize()},
        "address": _address(zip_code),
        "email": email,
        "payment_methods": {
            "gift_card_1": {"source": "gift_card", "id": "gift_card_1", "balance": balance},
            "paypal_1": {"source": "paypal", "id": "paypal_1"},
            "credit_card_1": {
                "source": "credit_card",
                "id": "credit_card_1",
                "brand": "visa",
                "last_four": "1234",
            },
        },
        "orders": list(orders),
    }


def _order(order_id: str, user_id: str, status: str, method: str, *items: Record) -> Record:
    lines = []
    for product in items:
        variant = next(iter(product["variants"].values()))
        lines.append(
            {
                "name": product["name"],
                "product_id": product["product_id"],
                **{key: variant[key] for key in ("item_id", "price", "options")},
            }
        )
    payment = {
        "transaction_type": "payment",
        "amount": sum(line["price"] for line in lines),
        "payment_method_id": method,
    }
    return {
        "order_id": order_id,
        "user_id": user_id,
        "address": _address("80001"),
        "items": lines,
        "status": status,
        "fulfillments": [],
        "payment_history": [payment],
    }


_USERS = (
    _user("ann_roe_1111", "Ann@Example.com", "80001", 100.0, "#W10001", "#W10002", "#W10003"),
    _user("ann_roe_2222", "second@example.com", "80001", 5.0, "#W10004"),
    _user("ann_roe_3333", "ann@example.com", "80003", 0.0, "#W10005"),
)
_ORDERS = (
    _order("#W10001", "ann_roe_1111", "pending", "gift_card_1", LAMP, MUG),
    _order("#W10002", "ann_roe_1111", "delivered", "paypal_1", LAMP, LAMP, MUG),
    _order("#W10003", "ann_roe_1111", "pending", "credit_card_1", LAMP, LAMP),
    _order("#W10004", "ann_roe_2222", "pending", "paypal_1", LAMP),
    _order("#W10005", "ann_roe_3333", "processed", "paypal_1", MUG),
)
_STORE: dict[str, dict[str, Record]] = {
    "products": {p["product_id"]: p for p in (LAMP, MUG)},
    "users": {u["user_id"]: u for u in _USERS},
    "orders": {o["order_id"]: o for o in _ORDERS},
}
_TASK = Task(
    id="0",
    split="test",
    intent="plain",
    user=UserScript("I am Ann Roe, zip 80001. Cancel the order with the mug. How much is it?"),
    actions=(
        ToolCall(
            "find_user_id_by_name_zip", {"first_name": "Ann", "last_name": "Roe", "zip": "80001"}
        ),
        ToolCall("get_user_details", {"user_id": "ann_roe_1111"}),
        ToolCall("get_order_details", {"order_id": "#W10001"}),
        ToolCall("cancel_pending_order", {"order_id": "#W10001", "reason": "no longer needed"}),
    ),
    outputs=("60.10",),
)


@pytest.fixture
def store() -> dict[str, dict[str, Record]]:
    """Products, users and orders as a benchmark's files hold them; private to the test."""
    return copy.deepcopy(_STORE)


@pytest.fixture(scope="session")
def domain() -> RetailDomain:
    """The small store with one task."""
    data = RetailData(source="builtin", tasks=(_TASK,), policy="Be kind.", **_STORE)
    return RetailDomain(checked(data, "store"))


@pytest.fixture
def session(domain: RetailDomain) -> RetailSession:
    """A fresh session with all twenty-one tools."""
    return domain.session(domain.task("0"), alternatives=True)


@pytest.fixture
def call(session: RetailSession) -> Callable[..., ToolResult]:
    """Call a tool of the session by name and arguments."""

    def run(tool: str, /, **arguments: Any) -> ToolResult:
        return session.call(ToolCall(tool, arguments))

    return run


@pytest.fixture
def fetch(call: Callable[..., ToolResult]) -> Callable[..., Any]:
    """Call a tool that must succeed and return its parsed JSON result."""

    def run(tool: str, /, **arguments: Any) -> Any:
        result = call(tool, **arguments)
        assert not result.is_error, result.content
        return orjson.loads(result.content)

    return run
