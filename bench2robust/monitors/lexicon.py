"""What the name of a field tells: lexicons for categories, identifiers and counts."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_category", "is_code", "is_data_key", "is_identifier", "is_quantity"]

_CATEGORY = re.compile(
    r"(^|_)(status|state|currency|units?|type|kind|category|class|level|severity|priority|mode"
    r"|direction|condition|country|language|method|tier)$"
)
_IDENTIFIER = re.compile(
    r"(^|_)(ids?|uuid|guid|ref|reference|number|no|token|key|sku|ur[li]|href|arn|email|phone|zip"
    r"|name|address\d?)$"
)
_CODE = re.compile(r"(^|_)(code|status|state)$")
_QUANTITY = re.compile(r"(^|_)(quantity|qty|count|units)$")
_DATA_KEY = re.compile(r"\d{4}|^\d+$")
_LONGEST_KEY = 128
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def words(name: str) -> str:
    """Return a name in lower case with ``_`` between its words (``unitPrice``: ``unit_price``)."""
    return _HUMP.sub("_", name[:_LONGEST_KEY]).lower()


@lru_cache(maxsize=4096)
def is_category(name: str) -> bool:
    """Say whether a field of this name usually has few values (``order_status``)."""
    return _CATEGORY.search(words(name)) is not None


def is_identifier(name: str) -> bool:
    """Say whether a field of this name usually identifies something (``itemId``, ``email``)."""
    return _IDENTIFIER.search(words(name)) is not None


def is_code(name: str) -> bool:
    """Say whether a number of this name stands for something, so that its sign means nothing."""
    return _CODE.search(words(name)) is not None


def is_quantity(name: str) -> bool:
    """Say whether a field of this name counts units (``quantity``)."""
    return _QUANTITY.search(words(name)) is not None


def is_data_key(key: str) -> bool:
    """Say whether a key is itself data: a number, something with a long number in it, a long text.

    What is decided by the text of a key alone does not depend on the order of records.
    """
    return len(key) > _LONGEST_KEY or _DATA_KEY.search(key) is not None
