"""What the fallback paths share: how they look things up and read results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import Knowledge
from bench2robust.core.types import ToolCall

__all__ = [
    "Arguments",
    "Calls",
    "Read",
    "by_options",
    "folded",
    "items_of",
    "lenient",
    "product_names",
]

Arguments: TypeAlias = Mapping[str, Any]
Calls: TypeAlias = Callable[[Arguments, Knowledge], list[ToolCall] | None]
Read: TypeAlias = Callable[[Arguments, list[Json]], Json | None]


def lenient(read: Read) -> Read:
    """Make a reader say None when what it reads does not have the expected shape."""

    @wraps(read)
    def wrapped(arguments: Arguments, results: list[Json]) -> Json | None:
        try:
            return read(arguments, results)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError):
            return None

    return wrapped


def product_names(known: Knowledge) -> Iterator[tuple[str, str]]:
    """Yield (product id, name) pairs that were observed, newest first."""
    for thing in known.objects():
        product_id, name = thing.get("product_id"), thing.get("name")
        if isinstance(product_id, str) and isinstance(name, str):
            yield product_id, name
    for call, result in reversed(known.results):
        if call.name == "list_all_product_types" and isinstance(result, dict):
            yield from ((str(product_id), name) for name, product_id in result.items())


def items_of(known: Knowledge) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield (product name, item with its id and options) pairs that were observed."""
    for thing in known.objects():
        name, variants = thing.get("name"), thing.get("variants")
        if not isinstance(name, str):
            continue
        rows = list(variants.values()) if isinstance(variants, dict) else [thing]
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get("options"), dict) and "item_id" in row:
                yield name, row


def by_options(name: str, row: Mapping[str, Json]) -> ToolCall:
    """Return the call that finds an observed item again by its options."""
    arguments = {"product_name": name, "options": row["options"]}
    return ToolCall("get_item_by_product_options", arguments)


def folded(name: Json) -> str:
    """Return a product name as it is compared."""
    return str(name).strip().lower()
