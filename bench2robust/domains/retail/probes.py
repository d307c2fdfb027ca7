"""The read calls that a text suffices to make: the moves of the searches behind plans and S3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from bench2robust.core.dataflow import Told
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.mentions import Mentions, mentions
from bench2robust.domains.retail.state import Base

__all__ = ["probes"]

_BY_USER = ("get_user_details", "get_orders_for_user")
_BY_ORDER = ("get_order_details", "get_user_by_order", "check_order_item_availability")


def probes(base: Base, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
    """Yield the read calls, not to ``blocked`` tools, whose arguments stand in ``known``.

    Who is asking comes first, then their orders, then the catalogue. Ids that the store does not
    have are left out: such a call finds nothing.
    """
    found = mentions(known)
    calls = (
        *_people(base, found),
        *(ToolCall(tool, {"user_id": u}) for u, tool in product(found.user_ids, _BY_USER)),
        *(ToolCall(tool, {"order_id": o}) for o, tool in product(found.order_ids, _BY_ORDER)),
    )
    yield from (call for call in calls if call.name not in blocked)
    for name, catalogue in _CATALOGUE.items():
        if name not in blocked:
            yield from catalogue(base, known, found)


def _people(base: Base, found: Mentions) -> Iterator[ToolCall]:
    for email in found.emails:
        yield ToolCall("find_user_id_by_email", {"email": email})
    for (first, last), zip_code in product(found.names(), found.zips):
        if (first.lower(), last.lower(), zip_code) in base.by_name_zip:
            arguments = {"first_name": first, "last_name": last, "zip": zip_code}
            yield ToolCall("find_user_id_by_name_zip", arguments)


def _products(base: Base, known: str, found: Mentions) -> Iterator[ToolCall]:
    for product_id in found.item_ids:
        if product_id in base.products:
            yield ToolCall("get_product_details", {"product_id": product_id})


def _items(base: Base, known: str, found: Mentions) -> Iterator[ToolCall]:
    for item_id in found.item_ids:
        if item_id in base.items:
            yield ToolCall("get_item_details", {"item_id": item_id})


def _all_types(base: Base, known: str, found: Mentions) -> Iterator[ToolCall]:
    yield ToolCall("list_all_product_types", {})


def _by_name(base: Base, known: str, found: Mentions) -> Iterator[ToolCall]:
    for name in _names(base, known):
        yield ToolCall("search_product_by_name", {"name": name})


def _by_options(base: Base, known: str, found: Mentions) -> Iterator[ToolCall]:
    lower, told = known.lower(), Told(known)
    for name in _names(base, known):
        for variant in base.products[base.by_name[name]]["variants"].values():
            values = variant["options"].values()
            if all(value.lower() in lower and told.has(value) for value in values):
                arguments = {"product_name": name, "options": variant["options"]}
                yield ToolCall("get_item_by_product_options", arguments)


def _names(base: Base, known: str) -> list[str]:
    lower = known.lower()
    return [name for name in base.by_name if name in lower]


_CATALOGUE = {
    "get_product_details": _products,
    "list_all_product_types": _all_types,
    "search_product_by_name": _by_name,
    "get_item_by_product_options": _by_options,
    "get_item_details": _items,
}
