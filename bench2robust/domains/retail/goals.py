"""What the users of the built-in suite want: for each kind of goal, the calls and the words.

A goal's calls start after its order was read. Every write needs at least one value that only a
tool result gives (an order id, an item id, a payment id, an address of the profile).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws
from bench2robust.domains.retail.orders import cents, total
from bench2robust.domains.retail.people import make_address, method_label, show_address
from bench2robust.domains.retail.wording import Part, listed, options_text, say

__all__ = ["GOALS", "ORDERLESS", "Goal", "Scene", "product_read"]

_REASONS = ("no longer needed", "ordered by mistake")
_MONEY = 40
"""How often, in percent, a user also asks for the amount that a write comes to."""


class Goal(NamedTuple):
    """One thing that a user wants done: calls, strings to be told, and how it is said."""

    calls: tuple[ToolCall, ...]
    outputs: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Scene:
    """What the goals of one task are made from.

    Attributes:
        names: how the user calls each order of the task, by order id.
        told: the order whose number the user gives, or nothing.
        moving: whether the user's own address changes in this task.
        single: whether the task has one goal only, which may then be a bigger one.
    """

    draws: Draws
    products: Mapping[str, Record]
    user: Record
    names: dict[str, str] = field(default_factory=dict)
    told: str = ""
    moving: bool = False
    single: bool = False

    def wares(self, order: Record) -> list[Record]:
        """Return the items that goals are about: all but the last, which names the order."""
        items: list[Record] = order["items"][:-1]
        return items

    def money(self, phrase: str, amount: int, **words: str) -> tuple[str, Part] | None:
        """Return the output and the sentence that asks for ``amount`` cents, or None.

        Amounts that end in 0 are not asked for: they can be written in two ways.
        """
        if amount % 10 == 0 or not self.draws.chance(_MONEY):
            return None
        return _dollars(amount), Part("", say(self.draws, phrase, **words))


def product_read(product: Record) -> ToolCall:
    """Return the call that reads a product."""
    return ToolCall("get_product_details", {"product_id": product["product_id"]})


def _dollars(amount: int) -> str:
    return repr(amount / 100)


def _calculate(expression: str) -> ToolCall:
    return ToolCall("calculate", {"expression": expression})


def _goal(
    calls: Sequence[ToolCall], parts: Sequence[Part], asked: tuple[str, Part] | None = None
) -> Goal:
    if asked is None:
        return Goal(tuple(calls), (), tuple(parts))
    return Goal(tuple(calls), (asked[0],), (*parts, asked[1]))


def _cancel(scene: Scene, order: Record) -> Goal:
    name = scene.names[order["order_id"]]
    reason, other = scene.draws.sample(_REASONS, 2)
    said = say(scene.draws, "reason", order=name, reason=reason)
    parts = (
        Part("order", say(scene.draws, "cancel", order=name)),
        Part("reason", said, said.replace(reason, other), ""),
    )
    call = ToolCall("cancel_pending_order", {"order_id": order["order_id"], "reason": reason})
    return _goal([call], parts, scene.money("cancel_money", cents(total(order)), order=name))


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
    return _goal([call], parts)


def _user(scene: Scene, order: Record) -> Goal:
    draws, address, before = scene.draws, make_address(scene.draws), make_address(scene.draws)
    said = say(draws, "user_address", address=show_address(address))
    first = said.replace(show_address(address), show_address(before))
    parts = (Part("", say(draws, "user")), Part("address", said, first, ""))
    call = ToolCall("modify_user_address", {"user_id": scene.user["user_id"], **address})
    return _goal([call], parts)


def _payment(scene: Scene, order: Record) -> Goal:
    draws, name, amount = scene.draws, scene.names[order["order_id"]], cents(total(order))
    method = draws.pick(_methods(scene.user, amount, _paid_with(order)))
    others = [m for m in _methods(scene.user, 0, _paid_with(order)) if m is not method]
    said = say(draws, "new_payment", order=name, method=method_label(method))
    first = said.replace(method_label(method), method_label(others[0])) if others else ""
    parts = (
        Part("order", say(draws, "payment", order=name)),
        Part("payment", said, first, ""),
    )
    arguments = {"order_id": order["order_id"], "payment_method_id": method["id"]}
    call = ToolCall("modify_pending_order_payment", arguments)
    return _goal([call], parts, scene.money("payment_money", amount, order=name))


def _paid_with(order: Record) -> str:
    method: str = order["payment_history"][0]["payment_method_id"]
    return method


def _methods(user: Record, amount: int, without: str = "") -> list[Record]:
    """Return the methods that can pay ``amount`` cents, all but ``without``."""
    return [
        method
        for key, method in user["payment_methods"].items()
        if key != without and cents(method.get("balance", amount / 100)) >= amount
    ]


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
    calls = [_calculate(sums)] if asked and len(lines) > 1 else []
    arguments = {"order_id": order["order_id"], "item_ids": [line["item_id"] for line in lines]}
    write = ToolCall("return_delivered_order_items", {**arguments, "payment_method_id": method})
    return _goal([*calls, write], parts, asked)


def _refund(scene: Scene, order: Record) -> tuple[str, Part]:
    """Return the method that receives a refund: the one that paid, or a gift card."""
    draws, paid, original = scene.draws, _paid_with(order), "the payment method that I paid with"
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
        variant = min((v for v in variants if v["available"]), key=_cost)
        text = say(draws, "low_price", name=product["name"])
    calls = (ToolCall("list_all_product_types", {}), product_read(product))
    return Goal(calls, (repr(variant["price"]),), (Part("", text),))


def _compare(scene: Scene, order: Record) -> Goal:
    """Ask for the span of prices of the product that names the order."""
    product = scene.products[order["items"][-1]["product_id"]]
    prices = [cents(variant["price"]) for variant in product["variants"].values()]
    high, low = max(prices), min(prices)
    words = {"order": scene.names[order["order_id"]], "name": product["name"]}
    text = say(scene.draws, "compare", **words)
    calls = (product_read(product), _calculate(f"{_dollars(high)} - {_dollars(low)}"))
    return Goal(calls, (_dollars(high - low),), (Part("", text),))


def _cost(variant: Record) -> float:
    price: float = variant["price"]
    return price


def _swap(scene: Scene, order: Record, kind: str, tool: str) -> Goal:
    """Change items of an order to other versions of the same products."""
    draws, wares = scene.draws, scene.wares(order)
    lines = draws.sample(wares, 2 if scene.single and len(wares) > 1 and draws.chance(60) else 1)
    picks = [_new_version(scene, line) for line in lines]
    names = listed([line["name"] for line in lines])
    old, new = (sum(cents(item["price"]) for item in side) for side in (lines, [p[0] for p in picks]))
    method, difference = _difference(scene, order, names, new - old)
    lead = say(draws, kind, order=scene.names[order["order_id"]], names=names)
    parts = (Part("item", lead), *(part for _, part in picks), difference)
    calls = [product_read(scene.products[line["product_id"]]) for line in lines]
    if scene.single and draws.chance(30):
        calls.append(ToolCall("get_item_details", {"item_id": picks[0][0]["item_id"]}))
    asked = scene.money("swap_money", abs(new - old), names=names)
    if asked:
        sides = [_sum([item for item, _ in picks]), _sum(lines)]
        calls.append(_calculate(" - ".join(sides if new > old else sides[::-1])))
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [line["item_id"] for line in lines],
        "new_item_ids": [item["item_id"] for item, _ in picks],
        "payment_method_id": method,
    }
    return _goal([*calls, ToolCall(tool, arguments)], parts, asked)


def _sum(items: Sequence[Record]) -> str:
    text = " + ".join(repr(item["price"]) for item in items)
    return f"({text})" if len(items) > 1 else text


def _new_version(scene: Scene, line: Record) -> tuple[Record, Part]:
    """Return the variant that shall replace an item, and how the user describes it."""
    draws, name, old = scene.draws, line["name"], line["options"]
    variants = scene.products[line["product_id"]]["variants"].values()
    stock = [v for v in variants if v["available"] and v["item_id"] != line["item_id"]]
    stock.sort(key=lambda v: len(_changed(old, v)))
    item = draws.pick(stock[:4])
    gone = [v for v in variants if not v["available"] and v["item_id"] != line["item_id"]]
    style = draws.below(100)
    if style < 20:
        item = min(stock, key=_cost)
        text = say(draws, "cheapest", name=name)
    elif style < 35 and gone:
        wanted = options_text(_changed(old, draws.pick(gone)))
        changed = options_text(_changed(old, item))
        text = say(draws, "prefer", name=name, wanted=wanted, options=changed)
    else:
        text = say(draws, "option", name=name, options=options_text(_changed(old, item)))
    other = draws.pick([v for v in stock[:4] if v is not item])
    first = say(draws, "option", name=name, options=options_text(_changed(old, other)))
    return item, Part("options", text, first, "")


def _changed(old: Mapping[str, str], variant: Record) -> dict[str, str]:
    return {key: value for key, value in variant["options"].items() if old[key] != value}


def _difference(scene: Scene, order: Record, names: str, owed: int) -> tuple[str, Part]:
    """Return the method that settles a price difference of ``owed`` cents, and its sentence.

    The user of an order whose number was told wants another method than the original one, so that
    the profile has to be read.
    """
    draws, user = scene.draws, scene.user
    without = _paid_with(order) if scene.told == order["order_id"] else ""
    able = _methods(user, owed, without)
    method = draws.pick(able)
    others = [m for m in able if m is not method]
    gift = next((m for m in _methods(user, 0, without) if "balance" in m), None)
    if gift and others and owed > 0 and draws.chance(40):
        rest = next(m for m in _methods(user, owed, without) if m is not gift)
        text = say(draws, "gift_first", names=names, method=method_label(rest))
        method = gift if gift in able else rest
    else:
        text = say(draws, "difference", names=names, method=method_label(method))
    others = [m for m in able if m is not method]
    first = say(draws, "difference", names=names, method=method_label(others[0])) if others else ""
    return method["id"], Part("payment", text, first, "")


GOALS: Mapping[str, Callable[[Scene, Record], Goal]] = {
    "cancel": _cancel,
    "address": _address,
    "payment": _payment,
    "modify": lambda scene, order: _swap(scene, order, "modify", "modify_pending_order_items"),
    "exchange": lambda scene, order: _swap(
        scene, order, "exchange", "exchange_delivered_order_items"
    ),
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
