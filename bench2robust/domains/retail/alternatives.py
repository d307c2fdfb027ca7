"""The five alternative tools of table 8: the same facts by other query patterns.

Their granularity is honest: the summaries of ``get_orders_for_user`` hold no item ids
(appendix K), ``check_order_item_availability`` supplies those but no status, payment or address.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import orjson

from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.state import Base, RefusedError, State
from bench2robust.domains.retail.tools import Handler

__all__ = ["ALTERNATIVES"]


def search_product_by_name(store: State, name: str) -> str:
    """Return the product of this name with all its variants."""
    return store.text("products", _product_id(store.base, name))


def get_item_by_product_options(store: State, product_name: str, options: Mapping[str, str]) -> str:
    """Return the one variant of a product that has the given options."""
    variants = store.base.products[_product_id(store.base, product_name)]["variants"]
    found = [v for v in variants.values() if options.items() <= v["options"].items()]
    if not found:
        raise RefusedError("Item not found")
    if len(found) > 1:
        missing = sorted(found[0]["options"].keys() - options.keys())
        raise RefusedError(f"{len(found)} items match; also give: {', '.join(missing)}")
    return orjson.dumps(found[0]).decode()


def get_orders_for_user(store: State, user_id: str) -> str:
    """Return a summary of each of a user's orders."""
    orders = store.base.orders_of.get(user_id)
    if orders is None:
        raise RefusedError("User not found")
    return f"[{','.join(store.derived('orders', o, 'summary', _summary) for o in orders)}]"


def _summary(order: Record) -> str:
    payment = order["payment_history"][0]
    return orjson.dumps(
        {
            "order_id": order["order_id"],
            "user_id": order["user_id"],
            "status": order["status"],
            "item_names": [item["name"] for item in order["items"]],
            "total": payment["amount"],
            "payment_method_id": payment["payment_method_id"],
        }
    ).decode()


def get_user_by_order(store: State, order_id: str) -> str:
    """Return the id of the user who placed an order."""
    owner = store.base.owner.get(order_id)
    if owner is None:
        raise RefusedError("Order not found")
    return owner


def check_order_item_availability(store: State, order_id: str) -> str:
    """Return an order's items, each with the variants that it can be exchanged for."""
    build = partial(_availability, store.base)
    return store.derived("orders", order_id, "availability", build)


def _availability(base: Base, order: Record) -> str:
    items = [
        {**item, "available_variants": _available(base, item["product_id"])}
        for item in order["items"]
    ]
    return orjson.dumps({"order_id": order["order_id"], "items": items}).decode()


def _available(base: Base, product_id: str) -> list[Record]:
    variants = base.products[product_id]["variants"].values()
    return [
        {"item_id": v["item_id"], "options": v["options"], "price": v["price"]}
        for v in variants
        if v["available"]
    ]


def _product_id(base: Base, name: str) -> str:
    product_id = base.by_name.get(name.strip().lower())
    if product_id is None:
        raise RefusedError("Product not found")
    return product_id


ALTERNATIVES: dict[str, Handler] = {
    tool.__name__: tool
    for tool in (
        search_product_by_name,
        get_item_by_product_options,
        get_orders_for_user,
        get_user_by_order,
        check_order_item_availability,
    )
}
