"""What the users of the built-in suite want: for each kind of goal, the calls and the words.

A goal's calls start after its order was read. Every write needs at least one value that only a
tool result gives (an order id, an item id, a payment id, an address of the profile).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.orders import cents, total
from bench2robust.domains.retail.people import make_address, method_label, show_address
from bench2robust.domains.retail.scene import (
    Goal,
    Scene,
    calculate,
    cost,
    dollars,
    goal,
    paid_with,
    product_read,
)
from bench2robust.domains.retail.swaps import exchange, modify
from bench2robust.domains.retail.wording import Part, listed, options_text, say

__all__ = ["GOALS", "ORDERLESS"]

_REASONS = ("no longer needed", "ordered by mistake")


def _cancel(scene: Scene, order: Record) -> Goal:
    name = scene.names[order["order_id"]]
    reason, other = scene.draws.sample(_REASONS, 2)
    said = say(scene.draws, "reason", order=name, reason=reason)
    parts = (
        Part("order", say(scene.draws, "cancel", order=name)),
        Part("reason", said, said.replace(reason, other), ""),
    )
    call = ToolCall("cancel_pending_order", {"order_id": order["order_id"], "reason": reason})
    return goal([call], parts, scene.money("cancel_money", cents(total(order)), order=name))


def _address(scene: Scene, order: Record) -> Goal:
    draws, name = scene.draws, scene.names[order["order_id"]]
    if scene.moving or draws.chance(50):
        address = make_address(draws)
        said = say(draws, "new_address", order=name, address=show_address(address))
    else:
        address = scene.user["address"]
        said = say(draws, "profile_address", order=name)
    before = say(draws, "new_address", order=name, address=show_address(make_address(draws)))
    parts = (
        Part("order", say(draws, "address", order=name)),
        Part("address", said, before, ""),
    )
    call = ToolCall("modify_pending_order_address", {"order_id": order["order_id"], **address})
    return goal([call], parts)


def _user(scene: Scene, order: Record) -> Goal:
    draws, address, before = scene.draws, make_address(scene.draws), make_address(scene.draws)
    said = say(draws, "user_address", address=show_address(address))
    first = said.replace(show_address(address), show_address(before))
    parts = (Part("", say(draws, "user")), Part("address", said, first, ""))
    call = ToolCall("modify_user_address", {"user_id": scene.user["user_id"], **address})
    return goal([call], parts)


def _payment(scene: Scene, order: Record) -> Goal:
    draws, name, amount = scene.draws, scene.names[order["order_id"]], cents(total(order))
    method = draws.pick(scene.methods(amount, paid_with(order)))
    others = [m for m in scene.methods(0, paid_with(order)) if m is not method]
    said = say(draws, "new_payment", order=name, method=method_label(method))
    first = said.replace(method_label(method), method_label(others[0])) if others else ""
    parts = (
        Part("order", say(draws, "payment", order=name)),
        Part("payment", said, first, ""),
    )
    arguments = {"order_id": order["order_id"], "payment_method_id": scene.charge(method)}
    call = ToolCall("modify_pending_order_payment", arguments)
    return goal([call], parts, scene.money("payment_money", amount, order=name))


def _return(scene: Scene, order: Record) -> Goal:
    draws, name, wares = scene.draws, scene.names[order["order_id"]], scene.wares(order)
    lines = draws.sample(wares, 1 + draws.below(min(len(wares), 3)))
    names, price = listed([line["name"] for line in lines]), sum(cents(i["price"]) for i in lines)
    said = say(draws, "return", order=name, names=names)
    before = [lines[0]] if len(lines) > 1 else [ware for ware in wares if ware not in lines][:1]
    first = said.replace(names, listed([line["name"] for line in before])) if before else ""
    method, refund = _refund(scene, order)
    parts = (Part("item", said, first, say(draws, "return_vague", order=name)), refund)
    asked = scene.money("return_money", price, order=name)
    sums = " + ".join(repr(line["price"]) for line in lines)
    calls = [calculate(sums)] if asked and len(lines) > 1 else []
    arguments = {"order_id": order["order_id"], "item_ids": [line["item_id"] for line in lines]}
    write = ToolCall("return_delivered_order_items", {**arguments, "payment_method_id": method})
    return goal([*calls, write], parts, asked)


def _refund(scene: Scene, order: Record) -> tuple[str, Part]:
    """Return the method that receives a refund: the one that paid, or a gift card."""
    draws, paid, original = scene.draws, paid_with(order), "the payment method that I paid with"
    gifts = [k for k, m in scene.user["payment_methods"].items() if "balance" in m and k != paid]
    gift = bool(gifts) and draws.chance(60)
    wanted, other = ("my gift card", original) if gift else (original, "my gift card")
    said = say(draws, "refund", order=scene.names[order["order_id"]], method=wanted)
    first = said.replace(wanted, other) if gifts else ""
    return gifts[0] if gift else paid, Part("payment", said, first, "")


def _total(scene: Scene, order: Record) -> Goal:
    text = say(scene.draws, "total", order=scene.names[order["order_id"]])
    return Goal((), (repr(total(order)),), (Part("", text),))


def _tracking(scene: Scene, order: Record) -> Goal:
    text = say(scene.draws, "tracking", order=scene.names[order["order_id"]])
    return Goal((), (order["fulfillments"][0]["tracking_id"][0],), (Part("", text),))


def _price(scene: Scene, order: Record) -> Goal:
    """Ask for a price in a product type that is found by its name."""
    draws, product = scene.draws, scene.draws.pick(list(scene.products.values()))
    variants = list(product["variants"].values())
    if draws.chance(50):
        variant = draws.pick(variants)
        words = {"name": product["name"], "options": options_text(variant["options"])}
        text = say(draws, "price", **words)
    else:
        variant = min((v for v in variants if v["available"]), key=cost)
        text = say(draws, "low_price", name=product["name"])
    calls = (ToolCall("list_all_product_types", {}), product_read(product))
    return Goal(calls, (repr(variant["price"]),), (Part("", text),))


def _compare(scene: Scene, order: Record) -> Goal:
    """Ask for the span of prices of the product that names the order."""
    product = scene.products[order["items"][-1]["product_id"]]
    prices = [cents(variant["price"]) for variant in product["variants"].values()]
    high, low = max(prices), min(prices)
    text = say(scene.draws, "compare", name=product["name"])
    calls = (product_read(product), calculate(f"{dollars(high)} - {dollars(low)}"))
    return Goal(calls, (dollars(high - low),), (Part("", text),))


GOALS: Mapping[str, Callable[[Scene, Record], Goal]] = {
    "cancel": _cancel,
    "address": _address,
    "payment": _payment,
    "modify": modify,
    "exchange": exchange,
    "return": _return,
    "total": _total,
    "tracking": _tracking,
    "compare": _compare,
    "user": _user,
    "price": _price,
}
"""The kinds of goal, each with what makes one."""

ORDERLESS = frozenset({"user", "price"})
"""The kinds that are about no order."""
