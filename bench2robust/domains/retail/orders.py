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

    What was paid is the sum of the item prices. Goods that left the store have a tracking id.
    """
    chosen = [draws.pick(list(product["variants"].values())) for product in products]
    if sum(cents(variant["price"]) for variant in chosen) % 10 == 0:
        chosen[-1] = _other_digit(draws, products[-1], chosen[-1])
    items = [_item(product, variant) for product, variant in zip(products, chosen, strict=True)]
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


def _other_digit(draws: Draws, product: Record, variant: Record) -> Record:
    """Return a variant whose price ends in another digit.

    So no order comes to an amount that ends in 0, which could be written in two ways.
    """
    last, variants = cents(variant["price"]) % 10, list(product["variants"].values())
    return draws.pick([v for v in variants if cents(v["price"]) % 10 != last] or variants)


def _item(product: Record, variant: Record) -> Record:
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
