"""The class ``product``: a product by id, by name, or through an order that contains it."""

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
    product_names,
)

__all__ = ["PRODUCT"]


def _ask_by_name(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    for product_id, name in product_names(known):
        if product_id == arguments.get("product_id"):
            return [ToolCall("search_product_by_name", {"name": name})]
    return None


def _ask_by_id(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    wanted = folded(arguments.get("name"))
    for product_id, name in product_names(known):
        if folded(name) == wanted:
            return [ToolCall("get_product_details", {"product_id": product_id})]
    return None


@lenient
def _read_product(arguments: Arguments, results: list[Json]) -> Json | None:
    product = results[0]
    same_id = product["product_id"] == arguments.get("product_id", product["product_id"])
    return product if same_id else None


def _ask_availability(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    product_id = arguments.get("product_id")
    for thing in known.objects():
        items = thing.get("items")
        if (
            "order_id" in thing
            and isinstance(items, list)
            and any(
                isinstance(item, dict) and item.get("product_id") == product_id for item in items
            )
        ):
            return [ToolCall("check_order_item_availability", {"order_id": thing["order_id"]})]
    return None


@lenient
def _read_available(arguments: Arguments, results: list[Json]) -> Json | None:
    product_id = arguments["product_id"]
    item = next(item for item in results[0]["items"] if item["product_id"] == product_id)
    variants = {
        v["item_id"]: {
            "item_id": v["item_id"],
            "options": v["options"],
            "available": True,
            "price": v["price"],
        }
        for v in item["available_variants"]
    }
    return {"name": item["name"], "product_id": product_id, "variants": variants}


def _ask_one_variant(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    for name, row in items_of(known):
        if row.get("product_id") == arguments.get("product_id"):
            return [by_options(name, row)]
    return None


@lenient
def _read_one_variant(arguments: Arguments, results: list[Json]) -> Json | None:
    variants = {results[0]["item_id"]: results[0]}
    return {"product_id": arguments["product_id"], "variants": variants}


def _ask_order_and_products(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    order_id = arguments.get("order_id")
    for thing in known.objects():
        items = thing.get("items")
        if thing.get("order_id") == order_id and isinstance(items, list):
            ids = dict.fromkeys(
                i["product_id"] for i in items if isinstance(i, dict) and "product_id" in i
            )
            products = [ToolCall("get_product_details", {"product_id": i}) for i in ids]
            return [ToolCall("get_order_details", {"order_id": order_id}), *products]
    return None


@lenient
def _read_order_and_products(_: Arguments, results: list[Json]) -> Json | None:
    order, *products = results
    available = {
        product["product_id"]: [
            {key: v[key] for key in ("item_id", "options", "price")}
            for v in product["variants"].values()
            if v["available"]
        ]
        for product in products
    }
    items = [
        {**item, "available_variants": available[item["product_id"]]} for item in order["items"]
    ]
    return {"order_id": order["order_id"], "items": items}


def _ask_whole_product(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
    return [ToolCall("search_product_by_name", {"name": arguments.get("product_name")})]


@lenient
def _read_variant(arguments: Arguments, results: list[Json]) -> Json | None:
    wanted = arguments["options"].items()
    found = [v for v in results[0]["variants"].values() if wanted <= v["options"].items()]
    return found[0] if len(found) == 1 else None


PRODUCT = FallbackClass(
    "product",
    (
        "get_product_details",
        "search_product_by_name",
        "check_order_item_availability",
        "get_item_by_product_options",
    ),
    (
        FallbackPath(
            "get_product_details",
            "search_product_by_name",
            "all",
            "the same product record by the product's name",
            _ask_by_name,
            _read_product,
        ),
        FallbackPath(
            "get_product_details",
            "check_order_item_availability",
            "some",
            "only the available variants, of the products in one order",
            _ask_availability,
            _read_available,
        ),
        FallbackPath(
            "get_product_details",
            "get_item_by_product_options",
            "some",
            "one variant, by the product's name and the variant's options",
            _ask_one_variant,
            _read_one_variant,
        ),
        FallbackPath(
            "search_product_by_name",
            "get_product_details",
            "all",
            "the same product record by the product's id",
            _ask_by_id,
            _read_product,
        ),
        FallbackPath(
            "check_order_item_availability",
            "get_product_details",
            "all",
            "get_order_details for the items, then one call for each product",
            _ask_order_and_products,
            _read_order_and_products,
        ),
        FallbackPath(
            "get_item_by_product_options",
            "search_product_by_name",
            "all",
            "the product's record, which holds the variant",
            _ask_whole_product,
            _read_variant,
        ),
    ),
)
