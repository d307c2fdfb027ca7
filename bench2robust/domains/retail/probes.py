"""The read calls that a text suffices to make: the moves of the search behind S3 certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from bench2robust.core.dataflow import Told
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.mentions import mentions
from bench2robust.domains.retail.state import Base

__all__ = ["probes"]

_LIMIT = 400
_BY_USER = ("get_user_details", "get_orders_for_user")
_BY_ORDER = ("get_order_details", "get_user_by_order", "check_order_item_availability")


def probes(base: Base, known: str, blocked: frozenset[str]) -> list[ToolCall]:
    """Return the read calls, not to ``blocked`` tools, whose arguments stand in ``known``.

    Ids that the store does not have are left out: such a call finds nothing. At most 400 calls.
    """
    return list(islice((c for c in _all(base, known) if c.name not in blocked), _LIMIT))


def _all(base: Base, known: str) -> Iterator[ToolCall]:
    found = mentions(known)
    for email in found.emails:
        yield ToolCall("find_user_id_by_email", {"email": email})
    for user_id, tool in product(found.user_ids, _BY_USER):
        yield ToolCall(tool, {"user_id": user_id})
    for order_id, tool in product(found.order_ids, _BY_ORDER):
        yield ToolCall(tool, {"order_id": order_id})
    yield ToolCall("list_all_product_types", {})
    yield from _products(base, known, found.item_ids)
    for (first, last), zip_code in product(found.names(), found.zips):
        if (first.lower(), last.lower(), zip_code) in base.by_name_zip:
            arguments = {"first_name": first, "last_name": last, "zip": zip_code}
            yield ToolCall("find_user_id_by_name_zip", arguments)


def _products(base: Base, known: str, ids: Sequence[str]) -> Iterator[ToolCall]:
    lower, told = known.lower(), Told(known)
    for product_id in ids:
        if product_id in base.products:
            yield ToolCall("get_product_details", {"product_id": product_id})
    named = [(name, key) for name, key in base.by_name.items() if name in lower]
    for name, _ in named:
        yield ToolCall("search_product_by_name", {"name": name})
    for item_id in ids:
        if item_id in base.items:
            yield ToolCall("get_item_details", {"item_id": item_id})
    for name, product_id in named:
        for variant in base.products[product_id]["variants"].values():
            values = variant["options"].values()
            if all(value.lower() in lower and told.has(value) for value in values):
                arguments = {"product_name": name, "options": variant["options"]}
                yield ToolCall("get_item_by_product_options", arguments)
