"""What the goals of a task are made from, and what a goal is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws
from bench2robust.domains.retail.orders import cents
from bench2robust.domains.retail.wording import Part, say

__all__ = [
    "MONEY",
    "Goal",
    "Scene",
    "calculate",
    "cost",
    "dollars",
    "goal",
    "paid_with",
    "product_read",
]

MONEY = 40
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
        asks: by phrase, how often, in percent, the user also asks for an amount; else MONEY.
        names: how the user calls each order of the task, by order id.
        told: the order whose number the user gives, or nothing.
        charged: the gift card that a write of the task already charged, or nothing.
        moving: whether the user's own address changes in this task.
        single: whether the task has one goal only, which may then be a bigger one.
    """

    draws: Draws
    products: Mapping[str, Record]
    user: Record
    asks: Mapping[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    told: str = ""
    moving: bool = False
    single: bool = False
    charged: str = ""

    def wares(self, order: Record) -> list[Record]:
        """Return the items that goals are about: all but the last, which names the order."""
        items: list[Record] = order["items"][:-1]
        return items

    def money(self, phrase: str, amount: int, **words: str) -> tuple[str, Part] | None:
        """Return the output and the sentence that asks for ``amount`` cents, or None.

        Amounts that end in 0 are not asked for: they can be written in two ways.
        """
        if amount % 10 == 0 or not self.draws.chance(self.asks.get(phrase, MONEY)):
            return None
        return dollars(amount), Part("", say(self.draws, phrase, **words))

    def methods(self, amount: int, without: str = "") -> list[Record]:
        """Return the payment methods that can pay ``amount`` cents, all but ``without``."""
        return [
            method
            for key, method in self.user["payment_methods"].items()
            if key not in (without, self.charged)
            and ("balance" not in method or cents(method["balance"]) > amount)
        ]

    def charge(self, method: Record) -> str:
        """Return the id of a method that pays; a gift card does so once in a task.

        So what it holds is known when it is chosen.
        """
        key: str = method["id"]
        if "balance" in method:
            self.charged = key
        return key


def goal(
    calls: Sequence[ToolCall], parts: Sequence[Part], asked: tuple[str, Part] | None = None
) -> Goal:
    """Return a goal, with the amount that the user asks for, if any."""
    if asked is None:
        return Goal(tuple(calls), (), tuple(parts))
    return Goal(tuple(calls), (asked[0],), (*parts, asked[1]))


def product_read(product: Record) -> ToolCall:
    """Return the call that reads a product."""
    return ToolCall("get_product_details", {"product_id": product["product_id"]})


def calculate(expression: str) -> ToolCall:
    """Return the call that works out an amount."""
    return ToolCall("calculate", {"expression": expression})


def dollars(amount: int) -> str:
    """Return an amount of cents as a tool shows it."""
    return repr(amount / 100)


def cost(variant: Record) -> float:
    """Return the price of a variant."""
    price: float = variant["price"]
    return price


def paid_with(order: Record) -> str:
    """Return the id of the method that paid for an order."""
    method: str = order["payment_history"][0]["payment_method_id"]
    return method
