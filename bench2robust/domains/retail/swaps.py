"""Goals that change items of an order to other versions of the same products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.orders import cents
from bench2robust.domains.retail.people import method_label
from bench2robust.domains.retail.scene import (
    Goal,
    Scene,
    calculate,
    cost,
    goal,
    paid_with,
    product_read,
)
from bench2robust.domains.retail.wording import Part, listed, options_text, say

__all__ = ["exchange", "modify"]


def modify(scene: Scene, order: Record) -> Goal:
    """Change items of a pending order."""
    return _swap(scene, order, "modify", "modify_pending_order_items")


def exchange(scene: Scene, order: Record) -> Goal:
    """Exchange items of a delivered order."""
    return _swap(scene, order, "exchange", "exchange_delivered_order_items")


def _swap(scene: Scene, order: Record, kind: str, tool: str) -> Goal:
    draws, wares = scene.draws, scene.wares(order)
    lines = draws.sample(wares, 2 if scene.single and len(wares) > 1 and draws.chance(60) else 1)
    picks = [_new_version(scene, line) for line in lines]
    names = listed([line["name"] for line in lines])
    new = sum(cents(item["price"]) for item, _ in picks)
    old = sum(cents(line["price"]) for line in lines)
    method, difference = _difference(scene, order, names, new - old)
    lead = say(draws, kind, order=scene.names[order["order_id"]], names=names)
    parts = (Part("item", lead), *(part for _, part in picks), difference)
    calls = [product_read(scene.products[line["product_id"]]) for line in lines]
    if scene.single and draws.chance(30):
        calls.append(ToolCall("get_item_details", {"item_id": picks[0][0]["item_id"]}))
    asked = scene.money("swap_money", abs(new - old), names=names)
    if asked:
        sides = [_sum([item for item, _ in picks]), _sum(lines)]
        calls.append(calculate(" - ".join(sides if new > old else sides[::-1])))
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [line["item_id"] for line in lines],
        "new_item_ids": [item["item_id"] for item, _ in picks],
        "payment_method_id": method,
    }
    return goal([*calls, ToolCall(tool, arguments)], parts, asked)


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
        item = min(stock, key=cost)
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
    draws = scene.draws
    without = paid_with(order) if scene.told == order["order_id"] else ""
    able = scene.methods(owed, without)
    method = draws.pick(able)
    others = [m for m in able if m is not method]
    gift = next((m for m in scene.methods(0, without) if "balance" in m), None)
    if gift and others and owed > 0 and draws.chance(40):
        rest = next(m for m in able if m is not gift)
        text = say(draws, "gift_first", names=names, method=method_label(rest))
        method = gift if gift in able else rest
    else:
        text = say(draws, "difference", names=names, method=method_label(method))
    others = [m for m in able if m is not method]
    first = say(draws, "difference", names=names, method=method_label(others[0])) if others else ""
    return scene.charge(method), Part("payment", text, first, "")
