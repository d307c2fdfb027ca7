"""The built-in suite: products, users, orders and tasks from one seed, the same bytes everywhere.

Every task has a user and orders of its own, so the splits share nothing but the products. Its gold
calls are what a careful agent does: find the user, read the profile, read each order that is
concerned, read products and work out amounts where they are asked for, then write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from bench2robust.core.errors import UsageError
from bench2robust.core.types import Task, ToolCall
from bench2robust.domains.retail.catalog import make_products
from bench2robust.domains.retail.data import Record, RetailData
from bench2robust.domains.retail.draws import Draws
from bench2robust.domains.retail.goals import GOALS, ORDERLESS
from bench2robust.domains.retail.mixes import MIXES
from bench2robust.domains.retail.orders import make_order
from bench2robust.domains.retail.people import CARDS, make_address, make_user
from bench2robust.domains.retail.policy import POLICY
from bench2robust.domains.retail.scene import Goal, Scene
from bench2robust.domains.retail.wording import make_script, say

__all__ = ["SMALL", "Shape", "Sizes", "builtin_data"]

_PENDING = frozenset({"cancel", "address", "payment", "modify"})
_DELIVERED = frozenset({"exchange", "return"})
_TELLABLE = frozenset({"modify", "exchange", "payment"})
_TELLING = {"plain": 80, "general": 20, "ambiguous": 20, "changing": 20}
"""How often, in percent, the user gives the number of a tellable order."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many tasks of each intent there are, and how many of all are held out for the test."""

    plain: int = 114
    general: int = 473
    ambiguous: int = 473
    changing: int = 279
    test: int = 402

    def counts(self) -> dict[str, int]:
        """Return the number of tasks by intent."""
        return {intent: getattr(self, intent) for intent in MIXES}

    def tests(self) -> dict[str, int]:
        """Return the number of test tasks by intent, in proportion (largest remainder)."""
        counts = self.counts()
        whole = sum(counts.values())
        shares = {intent: divmod(count * self.test, whole) for intent, count in counts.items()}
        rest = self.test - sum(share for share, _ in shares.values())
        ranked = sorted(shares, key=lambda intent: -shares[intent][1])
        return {intent: shares[intent][0] + (intent in ranked[:rest]) for intent in counts}


@dataclass(frozen=True, slots=True)
class Shape:
    """What one task is made of; as it is by default in the built-in suite.

    Attributes:
        mixes: which goals go together, whatever the intent; by default :data:`MIXES` says.
        older: whether users have orders that no goal is about.
        bought: how many products an order holds that a goal is about; by default three or four.
        cards: the kinds of payment methods a user may have.
        money: by phrase, how often, in percent, a user also asks for an amount; else MONEY.
        products: how many product types the store has, at most; at least as many as users buy.
        forthcoming: whether a user opens with email, name and zip code and knows no order number.
    """

    mixes: tuple[str, ...] = ()
    older: bool = True
    bought: int = 0
    cards: tuple[tuple[str, ...], ...] = CARDS
    money: Mapping[str, int] = field(default_factory=dict)
    products: int = 50
    forthcoming: bool = False


SMALL = (
    Sizes(plain=1600, general=0, ambiguous=0, changing=0, test=700),
    Shape(
        mixes=("cancel", "return"),
        older=False,
        bought=2,
        cards=(("credit_card",),),
        money={"cancel_money": 100, "return_money": 0},
        products=16,
        forthcoming=True,
    ),
)
"""A small world, in which one wish needs one order and everything else is left out."""


def builtin_data(seed: int = 0, sizes: Sizes = Sizes(), shape: Shape = Shape()) -> RetailData:
    """Return the built-in suite.

    Raises:
        UsageError: a size is negative, there is no task, or more are held out than there are.
    """
    _check(sizes)
    products = dict(islice(make_products(seed).items(), shape.products))
    maker = _Maker(seed, products, shape)
    held = sizes.tests()
    tasks = []
    for intent, count in sizes.counts().items():
        for index in range(count):
            # Evenly spread: exactly held[intent] of the indices raise the quotient.
            test = (index + 1) * held[intent] // count > index * held[intent] // count
            tasks.append(maker.task(intent, index, "test" if test else "train"))
    return RetailData("builtin", maker.products, maker.users, maker.orders, tuple(tasks), POLICY)


def _check(sizes: Sizes) -> None:
    counts = sizes.counts()
    for name, size in {**counts, "test": sizes.test}.items():
        if size < 0:
            raise UsageError(f"sizes.{name} is {size}; give 0 or more")
    if not 0 < sum(counts.values()) >= sizes.test:
        raise UsageError(
            f"sizes.test is {sizes.test} of {sum(counts.values())} tasks in all; "
            "ask for at least one task and hold out no more than there are"
        )


class _Maker:
    """Makes one task after the other, each with its own user and orders."""

    def __init__(self, seed: int, products: Mapping[str, Record], shape: Shape) -> None:
        self.products = products
        self._shape = shape
        self.users: dict[str, Record] = {}
        self.orders: dict[str, Record] = {}
        self._seed = seed
        self._wares = list(products.values())
        self._taken: set[str] = set()

    def task(self, intent: str, index: int, split: str) -> Task:
        """Make the task ``intent_index`` and what it needs."""
        draws = Draws("retail", self._seed, intent, index)
        shape = self._shape
        mix = [slot.split() for slot in draws.pick(shape.mixes or MIXES[intent]).split(" | ")]
        cards = [c for c in shape.cards if intent != "changing" or len(c) > 2]
        user = make_user(draws, self._taken, cards)
        self.users[user["user_id"]] = user
        kinds = [kind for slot in mix for kind in slot]
        scene = Scene(draws, self.products, user, shape.money)
        scene.moving, scene.single = "user" in kinds, len(kinds) == 1
        orders = self._orders(scene, mix)
        number = _name_orders(scene, mix, orders, 0 if shape.forthcoming else _TELLING[intent])
        by_email = draws.chance(60)
        actions, goals = _play(scene, mix, orders, by_email)
        wishes, names = [goal.parts for goal in goals], scene.names.values()
        return Task(
            id=f"{intent}_{index:04d}",
            split=split,
            intent=intent,
            user=make_script(
                draws, intent, user, "" if shape.forthcoming else number, names, wishes, by_email
            ),
            actions=actions,
            outputs=tuple(text for goal in goals for text in goal.outputs),
        )

    def _orders(self, scene: Scene, mix: Sequence[Sequence[str]]) -> list[Record]:
        """Make the user's orders: one a slot (even if it needs none), then older ones."""
        draws = scene.draws
        slots = [*mix, *[()] * (1 + draws.below(2) if self._shape.older else 0)]
        address = _shipped_to(scene, mix)
        # All products of a user differ, so one of them is enough to name an order.
        wares = iter(draws.sample(self._wares, 4 * len(slots)))
        orders = [self._order(scene, slot, wares, address) for slot in slots]
        scene.user["orders"] = draws.sample([order["order_id"] for order in orders], len(orders))
        return orders

    def _order(
        self, scene: Scene, slot: Sequence[str], wares: Iterator[Record], address: Record
    ) -> Record:
        draws, order_id = scene.draws, scene.draws.fresh("#W", 7, self._taken)
        count = self._shape.bought or (3 if slot else 1) + draws.below(2)
        bought = list(islice(wares, count))
        order = make_order(draws, order_id, scene.user, bought, _status(draws, slot), address)
        self.orders[order_id] = order
        return order


def _shipped_to(scene: Scene, mix: Sequence[Sequence[str]]) -> Record:
    """Return where the user's orders go: home, or where the user lived before.

    The former address is in another state, so none of its fields passes for one of the profile.
    """
    home: Record = scene.user["address"]
    if not any("address" in slot for slot in mix):
        return home
    while (address := make_address(scene.draws))["state"] == home["state"]:
        pass
    return address


def _status(draws: Draws, slot: Sequence[str]) -> str:
    """Return the status that the goals of an order need; any but pending for an older order."""
    if not _PENDING.isdisjoint(slot):
        return "pending"
    if not _DELIVERED.isdisjoint(slot):
        return "delivered"
    return draws.pick(("delivered", "processed") if slot else ("delivered", "cancelled"))


def _name_orders(
    scene: Scene, mix: Sequence[Sequence[str]], orders: Sequence[Record], telling: int
) -> str:
    """Settle how the user calls each order; return the sentence about the number it knows.

    At most one number is told, and only of an order whose writes still need an item or payment id.
    """
    draws = scene.draws
    tell = draws.chance(telling)
    for slot, order in zip(mix, orders, strict=False):
        if tell and not scene.told and _TELLABLE.issuperset(slot):
            scene.told = order["order_id"]
            scene.names[scene.told] = f"order {scene.told}"
        else:
            scene.names[order["order_id"]] = say(draws, "order", name=order["items"][-1]["name"])
    if scene.told:
        return say(draws, "known", number=scene.told)
    return say(draws, "older", number=orders[-1]["order_id"])


def _play(
    scene: Scene, mix: Sequence[Sequence[str]], orders: Sequence[Record], by_email: bool
) -> tuple[tuple[ToolCall, ...], list[Goal]]:
    """Return the gold calls of a task and its goals, in the order in which they are served."""
    user = scene.user
    calls = [_lookup(user, by_email), ToolCall("get_user_details", {"user_id": user["user_id"]})]
    goals = []
    for slot, order in zip(mix, orders, strict=False):
        if not ORDERLESS.issuperset(slot):
            calls.append(ToolCall("get_order_details", {"order_id": order["order_id"]}))
        for kind in slot:
            goals.append(GOALS[kind](scene, order))
            calls += goals[-1].calls
    return tuple(calls), goals


def _lookup(user: Record, by_email: bool) -> ToolCall:
    if by_email:
        return ToolCall("find_user_id_by_email", {"email": user["email"]})
    where = {**user["name"], "zip": user["address"]["zip"]}
    return ToolCall("find_user_id_by_name_zip", where)
