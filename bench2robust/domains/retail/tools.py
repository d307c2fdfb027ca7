"""The sixteen tools of τ²-bench retail, with its results, refusals and quirks.

Every function takes the episode's state and its call's arguments, already checked against the
tool's schema, and returns the text that the agent reads.

Quirks that are kept, because the gold states were made with them: ``modify_pending_order_items``
gives every modified item the price and options of the *last* new item, and the amount that it
charges is not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import orjson

from bench2robust.domains.retail.calculator import calculate as evaluate
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.state import RefusedError, State

__all__ = ["STOCK", "Handler"]

Handler = Callable[..., str]
"""From the state and a call's arguments to the result's text; may raise ``RefusedError``."""

_REASONS = ("no longer needed", "ordered by mistake")


def calculate(store: State, expression: str) -> str:
    """Return the value of an arithmetic expression, rounded to two decimals."""
    try:
        return evaluate(expression)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def transfer_to_human_agents(store: State, summary: str) -> str:
    """Hand the user over."""
    return "Transfer successful"


def find_user_id_by_email(store: State, email: str) -> str:
    """Return the id of the user with this email."""
    return _found(store.base.emails.get(email.lower()))


def find_user_id_by_name_zip(store: State, first_name: str, last_name: str, zip: str) -> str:
    """Return the id of the user with this name and zip code."""
    return _found(store.user_by_name_zip(first_name, last_name, zip))


def _found(user_id: str | None) -> str:
    if user_id is None:
        raise RefusedError("User not found")
    return user_id


def get_order_details(store: State, order_id: str) -> str:
    """Return an order."""
    return store.text("orders", order_id)


def get_product_details(store: State, product_id: str) -> str:
    """Return a product with all its variants."""
    return store.text("products", product_id)


def get_item_details(store: State, item_id: str) -> str:
    """Return one variant."""
    product_id = store.base.items.get(item_id)
    if product_id is None:
        raise RefusedError("Item not found")
    return orjson.dumps(store.base.products[product_id]["variants"][item_id]).decode()


def get_user_details(store: State, user_id: str) -> str:
    """Return a user."""
    return store.text("users", user_id)


def list_all_product_types(store: State) -> str:
    """Return the id of every product by its name."""
    return store.base.product_types


def cancel_pending_order(store: State, order_id: str, reason: str) -> str:
    """Cancel an order and refund every payment."""
    order = store.record("orders", order_id)
    if order["status"] != "pending":
        raise RefusedError("Non-pending order cannot be cancelled")
    if reason not in _REASONS:
        raise RefusedError("Invalid reason")
    user = store.record("users", order["user_id"])
    payments = list(order["payment_history"])
    for payment in payments:
        _move_money(_method(user, payment["payment_method_id"]), payment["amount"])
        order["payment_history"].append({**payment, "transaction_type": "refund"})
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    store.save("users", order["user_id"], user)
    return store.save("orders", order_id, order)


def exchange_delivered_order_items(
    store: State,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> str:
    """Request an exchange of delivered items."""
    order = store.record("orders", order_id)
    if order["status"] != "delivered":
        raise RefusedError("Non-delivered order cannot be exchanged")
    _demand_items(order, item_ids, "Number of {} not found.")
    if len(item_ids) != len(new_item_ids):
        raise RefusedError("The number of items to be exchanged should match.")
    pairs = _pairs(store, order, item_ids, new_item_ids)
    # Adding 0.0 turns the -0.0 that rounding can leave into 0.0.
    difference = round(_difference(pairs), 2) + 0.0
    method = _method(store.record("users", order["user_id"]), payment_method_id)
    _demand_balance(method, difference, "pay for the price difference")
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return store.save("orders", order_id, order)


def modify_pending_order_items(
    store: State,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> str:
    """Replace items of a pending order."""
    order = store.record("orders", order_id)
    if order["status"] != "pending":
        raise RefusedError("Non-pending order cannot be modified")
    _demand_items(order, item_ids, "{} not found")
    if len(item_ids) != len(new_item_ids):
        raise RefusedError("The number of items to be exchanged should match")
    pairs = _pairs(store, order, item_ids, new_item_ids, must_differ=True)
    difference = _difference(pairs)
    user = store.record("users", order["user_id"])
    method = _method(user, payment_method_id)
    _demand_balance(method, difference, "pay for the new item")
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_payment(kind, abs(difference), payment_method_id))
    _move_money(method, -difference)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        last = pairs[-1][1]
        item = _item(order, item_id)
        item.update(item_id=new_item_id, price=last["price"], options=last["options"])
    order["status"] = "pending (item modified)"
    store.save("users", order["user_id"], user)
    return store.save("orders", order_id, order)


def modify_pending_order_address(store: State, order_id: str, **address: str) -> str:
    """Change where a pending order is shipped."""
    order = store.record("orders", order_id)
    _demand_pending(order)
    order["address"] = _address(order, address)
    return store.save("orders", order_id, order)


def modify_pending_order_payment(store: State, order_id: str, payment_method_id: str) -> str:
    """Charge a pending order to another payment method."""
    order = store.record("orders", order_id)
    _demand_pending(order)
    user = store.record("users", order["user_id"])
    method = _method(user, payment_method_id)
    history = order["payment_history"]
    if len(history) != 1 or history[0]["transaction_type"] != "payment":
        raise RefusedError("There should be exactly one payment for a pending order")
    old_id, amount = history[0]["payment_method_id"], history[0]["amount"]
    if old_id == payment_method_id:
        raise RefusedError("The new payment method should be different from the current one")
    _demand_balance(method, amount, "pay for the order")
    history.append(_payment("payment", amount, payment_method_id))
    history.append(_payment("refund", amount, old_id))
    _move_money(method, -amount)
    _move_money(_method(user, old_id), amount)
    store.save("users", order["user_id"], user)
    return store.save("orders", order_id, order)


def modify_user_address(store: State, user_id: str, **address: str) -> str:
    """Change a user's default address."""
    user = store.record("users", user_id)
    user["address"] = _address(user, address)
    return store.save("users", user_id, user)


def return_delivered_order_items(
    store: State, order_id: str, item_ids: list[str], payment_method_id: str
) -> str:
    """Request the return of delivered items."""
    order = store.record("orders", order_id)
    if order["status"] != "delivered":
        raise RefusedError("Non-delivered order cannot be returned")
    method = _method(store.record("users", order["user_id"]), payment_method_id)
    paid_with = order["payment_history"][0]["payment_method_id"]
    if method["source"] != "gift_card" and payment_method_id != paid_with:
        raise RefusedError("Payment method should be the original payment method")
    _demand_items(order, item_ids, "Some item not found")
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return store.save("orders", order_id, order)


def _demand_pending(order: Record) -> None:
    if "pending" not in order["status"]:
        raise RefusedError("Non-pending order cannot be modified")


def _demand_items(order: Record, item_ids: Sequence[str], message: str) -> None:
    """Refuse if an item is asked for more often than the order holds it."""
    held = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > held.count(item_id):
            raise RefusedError(message.format(item_id))


def _demand_balance(method: Record, amount: float, purpose: str) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise RefusedError(f"Insufficient gift card balance to {purpose}")


def _pairs(
    store: State,
    order: Record,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    must_differ: bool = False,
) -> list[tuple[Record, Record]]:
    """Return each old item with the variant that is to replace it."""
    pairs = []
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if must_differ and item_id == new_item_id:
            raise RefusedError("The new item id should be different from the old item id")
        item = _item(order, item_id)
        variant = store.base.products[item["product_id"]]["variants"].get(new_item_id)
        if variant is None:
            raise RefusedError("Variant not found")
        if not variant["available"]:
            raise RefusedError(f"New item {new_item_id} not found or available")
        pairs.append((item, variant))
    return pairs


def _difference(pairs: Sequence[tuple[Record, Record]]) -> float:
    total = 0.0
    for old, new in pairs:  # not sum(): since Python 3.12 it rounds differently
        total += new["price"] - old["price"]
    return total


def _item(order: Record, item_id: str) -> Record:
    """Return the order's first item with this id, which is known to be there."""
    item: Record = next(item for item in order["items"] if item["item_id"] == item_id)
    return item


def _method(user: Record, payment_method_id: str) -> Record:
    method: Record | None = user["payment_methods"].get(payment_method_id)
    if method is None:
        raise RefusedError("Payment method not found")
    return method


def _move_money(method: Record, amount: float) -> None:
    """Credit (or, if negative, debit) a gift card; other methods are settled elsewhere."""
    if method["source"] == "gift_card":
        method["balance"] = round(method["balance"] + amount, 2)


def _payment(kind: str, amount: float, payment_method_id: str) -> Record:
    return {
        "transaction_type": kind,
        "amount": amount,
        "payment_method_id": payment_method_id,
    }


def _address(holder: Record, address: Mapping[str, str]) -> Record:
    return {field: address[field] for field in holder["address"]}


STOCK: dict[str, Handler] = {
    tool.__name__: tool
    for tool in (
        find_user_id_by_email,
        find_user_id_by_name_zip,
        get_order_details,
        get_product_details,
        get_item_details,
        get_user_details,
        list_all_product_types,
        cancel_pending_order,
        exchange_delivered_order_items,
        modify_pending_order_address,
        modify_pending_order_items,
        modify_pending_order_payment,
        modify_user_address,
        return_delivered_order_items,
        calculate,
        transfer_to_human_agents,
    )
}
