"""The orders of the built-in suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws

__all__ = ["cents", "make_order", "total"]


def make_order(
    draws: Draws,
    order_id: str,
    user: Record,
    products: Sequence[Record],
    status: str,
    address: Record,
) -> Record:
    """Return an order of one variant of each product, paid with one of the user's methods.

    What was paid is the sum of the item prices, and does not end in 0; goods that left the store have a tracking id.
    """
    items: list[Record] = []
    for product in products:
        items.append(_item(draws, product, sum(cents(item["price"]) for item in items)))
    method = draws.pick(list(user["payment_methods"]))
    paid = _payment("payment", items, method)
    sent = {"tracking_id": [draws.digits(12)], "item_ids": [item["item_id"] for item in items]}
    return {
        "order_id": order_id,
        "user_id": user["user_id"],
        "address": dict(address),
        "items": items,
        "status": status,
        "fulfillments": [] if status == "pending" else [sent],
        "payment_history": [paid, _payment("refund", items, method)]
        if status == "cancelled"
        else [paid],
    }


def _item(draws: Draws, product: Record, before: int) -> Record:
    variants = list(product["variants"].values())
    # The order must not come to an amount that ends in 0: there are two ways to write it.
    variant = draws.pick([v for v in variants if (before + cents(v["price"])) % 10] or variants)
    return {
        "name": product["name"],
        "product_id": product["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": dict(variant["options"]),
    }


def _payment(kind: str, items: Sequence[Mapping[str, float]], method: str) -> Record:
    amount = sum(cents(item["price"]) for item in items) / 100
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method}


def cents(price: float) -> int:
    """Return an amount in whole cents; sums of cents are exact, sums of dollars are not."""
    return round(price * 100)


def total(order: Record) -> float:
    """Return what was paid for an order."""
    amount: float = order["payment_history"][0]["amount"]
    return amount
