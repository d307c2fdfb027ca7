"""The compact view: what an episode of the small world looks like in words, and what words ask for.

It hides nothing that an agent needs and adds nothing that it could not see: each result is read
from the text that came back, and left out is what no task of the small world asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench2robust.agents.actions import Malformed, explain
from bench2robust.agents.base import Action, Say, Unreadable
from bench2robust.agents.signals import read_signal
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.domain import Domain
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains.retail.mentions import mentions
from bench2robust.training.compact.aliases import DIGITS, Aliases
from bench2robust.training.compact.words import (
    END,
    ERROR,
    REASONS,
    STATES,
    UNREADABLE,
    VERBS,
    product_word,
    wanted_word,
)

__all__ = ["DONE", "TOOLS", "CompactView", "products_of"]

TOOLS = (
    "find_user_id_by_email",
    "find_user_id_by_name_zip",
    "get_user_details",
    "get_order_details",
    "check_order_item_availability",
    "cancel_pending_order",
    "return_delivered_order_items",
    "transfer_to_human_agents",
)
"""The tools that have words."""

DONE = {
    "cancel": "Your order has been cancelled.",
    "return": "The return of your item has been requested.",
}
"""What ``done`` tells the user, by what the user wished."""
REFUND = "{} You get back ${}."
_SUMMARY = "The tools that this request needs do not work."
_WISH = re.compile(r"\bcancel", re.IGNORECASE)
_NAMES = "|"  # joins the parts of a name: no part holds it
_SHAPES = {
    "email": "nobody.{}@example.com",
    "name": "Nobody|Unknown|00{}",
    "user": "nobody_unknown_{}",
    "order": "#W0000{}",
    "card": "credit_card_0000{}",
    "item": "0000000{}",
    "total": "0.{}",
}
"""What a number that was never shown is taken for; nothing in the store has such an id."""


def products_of(domain: Domain) -> tuple[str, ...]:
    """Return the names of the product types of a retail store."""
    session = domain.session(domain.tasks()[0])
    listed = parse_result(session.call(ToolCall("list_all_product_types", {})).content)
    return tuple(listed)


class CompactView:
    """One episode in words.

    Args:
        products: the names of the store's product types.
        seed: the episode's seed.
        task_id: the episode's task.

    Attributes:
        product: the word of the product that is to be returned; empty for other wishes.
    """

    def __init__(self, products: Sequence[str], seed: int, task_id: str) -> None:
        self._words = {product_word(name): name for name in products}
        self._aliases = Aliases(seed, task_id)
        self._wish = "cancel"
        self.product = ""

    def opening(self, said: str) -> list[str]:
        """Return the words of the user's first message."""
        found = mentions(said)
        first, last = found.known_names()[0]
        person = _NAMES.join((first, last, found.own_zips[0]))
        words = [*self._field("email", found.emails[0]), *self._field("name", person)]
        if _WISH.search(said):
            reason = next(word for word, text in REASONS.items() if text in said)
            return [*words, "wish", "cancel", "reason", reason, END]
        self._wish = "return"
        named = [(said.index(name), word) for word, name in self._words.items() if name in said]
        self.product = min(named)[1]
        return [*words, "wish", "return", wanted_word(self.product), END]

    def action(self, words: Sequence[str]) -> Action | Unreadable:
        """Return what a turn asks for; ``words`` end with ``;`` unless the budget cut them off."""
        verb, *rest = [*words, ""][: len(words)] or [""]
        if rest and rest[-1] == END:
            try:
                return self._act(verb, self._fields(rest[:-1]))
            except (LookupError, ValueError):
                pass
        text = " ".join(words)
        return Unreadable(text, explain(Malformed(f"{text!r} is no call")))

    def _act(self, verb: str, fields: Mapping[str, str]) -> Action:
        if verb not in VERBS:
            raise ValueError(verb)
        if verb == "done" and fields.keys() <= {"total"}:
            done = DONE[self._wish]
            return Say(REFUND.format(done, fields["total"]) if fields else done)
        read = _READERS[verb, *(key if key in _KEYS else "item" for key in fields)]
        return read(*fields.values())

    def _fields(self, words: Sequence[str]) -> dict[str, str]:
        """Return the value of each key; a reason stands for itself."""
        fields, at = {}, 0
        while at < len(words):
            key = words[at]
            if key == "reason":
                fields["reason"] = REASONS[words[at + 1]]
                at += 2
                continue
            number = "".join(words[at + 1 : at + 1 + DIGITS])
            if len(number) != DIGITS or not number.isdigit() or key in fields:
                raise ValueError(key)
            shape = _SHAPES[key if key in _KEYS else "item" if key in self._words else ""]
            fields[key] = self._aliases.value(number) or shape.format(number)
            at += 1 + DIGITS
        return fields

    def words_of(self, action: Action) -> list[str]:
        """Return the turn that asks for an action, as a demonstration shows it."""
        if isinstance(action, Say):
            _, refund, amount = action.text.partition(" $")
            return ["done", *(self._field("total", amount[:-1]) if refund else ()), END]
        verb, *keys = _WORDING[action.name]
        words = [verb]
        for key, value in zip(keys, _values(action), strict=True):
            if key == "reason":
                words += ["reason", next(w for w, text in REASONS.items() if text == value)]
            else:
                words += self._field(self.product if key == "item" else key, value)
        return [*words, END]

    def observation(self, action: Action | Unreadable, back: ToolResult | str) -> list[str]:
        """Return the words of what an action brought back."""
        if isinstance(action, Unreadable):
            return [ERROR, UNREADABLE, END]
        if isinstance(back, str):
            return ["reply", "go_on", END]
        signal = read_signal(back)
        if signal:
            return [ERROR, signal, END]
        assert isinstance(action, ToolCall)
        return [*self._result(action.name, parse_result(back.content)), END]

    def _result(self, tool: str, result: Json) -> list[str]:
        if tool in TOOLS[:2]:
            return self._field("user", str(result))
        if not isinstance(result, dict):
            return []
        if tool == "get_user_details":
            orders = _texts(result.get("orders"))
            cards = _texts(result.get("payment_methods"))
            return [*self._all("order", orders), *self._all("card", cards)]
        state = STATES.get(str(result.get("status")))
        words = ["status", state] if state else []
        if tool in ("get_order_details", "check_order_item_availability"):
            items = result.get("items") or ()
            if items:
                cents = sum(round(100 * item["price"]) for item in items)
                words += self._field("total", repr(cents / 100))
            for item in items:
                words += self._field(product_word(item["name"]), item["item_id"])
        return words

    def _all(self, key: str, values: Iterable[str]) -> list[str]:
        return [word for value in values for word in self._field(key, value)]

    def _field(self, key: str, value: str) -> list[str]:
        return [key, *self._aliases.number(value)]


def _texts(value: Any) -> list[str]:
    return list(map(str, value)) if isinstance(value, (list, dict)) else []


def _person(name: str) -> dict[str, Json]:
    first, last, code = name.split(_NAMES)
    return {"first_name": first, "last_name": last, "zip": code}


_KEYS = frozenset((*_SHAPES, "reason")) - {"item"}
_WORDING: Mapping[str, tuple[str, ...]] = {
    "find_user_id_by_email": ("find", "email"),
    "find_user_id_by_name_zip": ("find", "name"),
    "get_user_details": ("look", "user"),
    "get_order_details": ("read", "order"),
    "check_order_item_availability": ("stock", "order"),
    "cancel_pending_order": ("cancel", "order", "reason"),
    "return_delivered_order_items": ("return", "order", "item", "card"),
    "transfer_to_human_agents": ("transfer",),
}
"""The verb and the keys of each call."""


def _values(call: ToolCall) -> list[str]:
    arguments = dict(call.arguments)
    if call.name == "find_user_id_by_name_zip":
        return [_NAMES.join(map(str, arguments.values()))]
    if call.name == "transfer_to_human_agents":
        return []
    return [str(v[0]) if isinstance(v, list) else str(v) for v in arguments.values()]


def _reader(tool: str) -> Callable[..., ToolCall]:
    names = {
        "get_user_details": ("user_id",),
        "cancel_pending_order": ("order_id", "reason"),
        "find_user_id_by_email": ("email",),
    }.get(tool, ("order_id",))
    return lambda *values: ToolCall(tool, dict(zip(names, values, strict=True)))


_READERS: dict[tuple[str, ...], Callable[..., ToolCall]] = {
    words: _reader(tool) for tool, words in _WORDING.items()
}
_READERS["find", "name"] = lambda name: ToolCall("find_user_id_by_name_zip", _person(name))
_READERS["transfer",] = lambda: ToolCall("transfer_to_human_agents", {"summary": _SUMMARY})
_READERS["return", "order", "item", "card"] = lambda order, item, card: ToolCall(
    "return_delivered_order_items",
    {"order_id": order, "item_ids": [item], "payment_method_id": card},
)
