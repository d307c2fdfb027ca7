"""The class ``item``: one variant by its id, or by its product and options."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.fallbacks.reading import (
    Arguments,
    by_options,
    folded,
    items_of,
    lenient,
)

__all__ = ["ITEM"]


def _ask_by_options(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    for name, row in items_of(known):
        if row["item_id"] == arguments.get("item_id"):
            return [by_options(name, row)]
    return None


def _ask_by_item_id(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    wanted, options = folded(arguments.get("product_name")), arguments.get("options")
    for name, row in items_of(known):
        if folded(name) == wanted and row["options"] == options:
            return [ToolCall("get_item_details", {"item_id": row["item_id"]})]
    return None


@lenient
def _read_item(arguments: Arguments, results: list[Json]) -> Json | None:
    item = results[0]
    same_id = item["item_id"] == arguments.get("item_id", item["item_id"])
    return item if same_id else None


ITEM = FallbackClass(
    "item",
    ("get_item_details", "get_item_by_product_options"),
    (
        FallbackPath(
            "get_item_details",
            "get_item_by_product_options",
            "all",
            "the same variant by its product's name and its options",
            _ask_by_options,
            _read_item,
        ),
        FallbackPath(
            "get_item_by_product_options",
            "get_item_details",
            "all",
            "the same variant by its item id",
            _ask_by_item_id,
            _read_item,
        ),
    ),
)
