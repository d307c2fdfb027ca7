"""The records of a retail suite: every field checked, completed, and in one order.

The order is that of τ²-bench's schema, absent optional fields become null and amounts are floats,
so equal records have equal JSON text and a state can be compared as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench2robust.core.errors import DataError, shown
from bench2robust.domains.retail.data import Record, RetailData

__all__ = ["checked"]


@dataclass(frozen=True, slots=True)
class _Each:
    """An object with any keys and values of one shape."""

    shape: Any


@dataclass(frozen=True, slots=True)
class _Maybe:
    """A value that may be absent or null."""

    shape: Any


@dataclass(frozen=True, slots=True)
class _OneOf:
    """An object whose ``tag`` field says which of several shapes it has."""

    tag: str
    shapes: Mapping[str, Any]


_ADDRESS = dict.fromkeys(("address1", "address2", "city", "country", "state", "zip"), str)
_VARIANT = {"item_id": str, "options": _Each(str), "available": bool, "price": float}
_METHOD = {"source": str, "id": str}
_ITEM = {"name": str, "product_id": str, "item_id": str, "price": float, "options": _Each(str)}
_SHAPES: dict[str, Any] = {
    "products": {"name": str, "product_id": str, "variants": _Each(_VARIANT)},
    "users": {
        "user_id": str,
        "name": {"first_name": str, "last_name": str},
        "address": _ADDRESS,
        "email": str,
        "payment_methods": _Each(
            _OneOf(
                "source",
                {
                    "credit_card": {**_METHOD, "brand": str, "last_four": str},
                    "gift_card": {**_METHOD, "balance": float},
                    "paypal": _METHOD,
                },
            )
        ),
        "orders": [str],
    },
    "orders": {
        "order_id": str,
        "user_id": str,
        "address": _ADDRESS,
        "items": [_ITEM],
        "status": str,
        "fulfillments": [{"tracking_id": [str], "item_ids": [str]}],
        "payment_history": [{"transaction_type": str, "amount": float, "payment_method_id": str}],
        "cancel_reason": _Maybe(str),
        "exchange_items": _Maybe([str]),
        "exchange_new_items": _Maybe([str]),
        "exchange_payment_method_id": _Maybe(str),
        "exchange_price_difference": _Maybe(float),
        "return_items": _Maybe([str]),
        "return_payment_method_id": _Maybe(str),
    },
}
_IDS = {"products": "product_id", "users": "user_id", "orders": "order_id"}
_WORDS = {str: "text", bool: "true or false", float: "a finite number"}
_ABSENT = object()


def checked(data: RetailData, where: str) -> RetailData:
    """Return ``data`` with every record complete, in field order, and consistent.

    Args:
        where: what the error texts call the source, such as a folder.

    Raises:
        DataError: a field is missing or of the wrong kind, or a record refers to an unknown one.
    """
    tables = {
        kind: _table(kind, getattr(data, kind), f"{where}: {kind}")
        for kind in ("products", "users", "orders")
    }
    _check_references(tables, where)
    return replace(
        data, products=tables["products"], users=tables["users"], orders=tables["orders"]
    )


def _table(kind: str, raw: Any, where: str) -> dict[str, Record]:
    if isinstance(raw, Mapping) and not raw:
        raise DataError(f"{where} is empty; a suite has products, users and orders")
    if not isinstance(raw, Mapping):
        raise DataError(f"{where} must be an object of records by id, not {shown(raw)}")
    table = {}
    for key, value in raw.items():
        if not isinstance(value, dict):
            raise DataError(f"{where}[{key!r}] must be an object, not {shown(value)}")
        record = _fit({_IDS[kind]: key, **value}, _SHAPES[kind], f"{where}[{key!r}]")
        if record[_IDS[kind]] != key:
            raise DataError(f"{where}[{key!r}].{_IDS[kind]} is {record[_IDS[kind]]!r}, not its key")
        table[key] = record
    return table


def _fit(value: Any, shape: Any, where: str) -> Any:
    """Return ``value`` in the given shape, its fields in the shape's order."""
    if isinstance(shape, _Maybe):
        return None if value is None or value is _ABSENT else _fit(value, shape.shape, where)
    if value is _ABSENT:
        raise DataError(f"{where} is missing")
    if isinstance(shape, type):
        return _scalar(value, shape, where)
    if isinstance(shape, list):
        _demand(isinstance(value, list), "a list", value, where)
        return [_fit(item, shape[0], f"{where}[{i}]") for i, item in enumerate(value)]
    _demand(isinstance(value, dict), "an object", value, where)
    if isinstance(shape, _Each):
        return {k: _fit(v, shape.shape, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(shape, _OneOf):
        tag = value.get(shape.tag)
        _demand(tag in shape.shapes, f"one of {sorted(shape.shapes)}", tag, f"{where}.{shape.tag}")
        shape = shape.shapes[tag]
    return {k: _fit(value.get(k, _ABSENT), s, f"{where}.{k}") for k, s in shape.items()}


def _scalar(value: Any, kind: type, where: str) -> Any:
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        _demand(number and math.isfinite(value), _WORDS[float], value, where)
        return float(value)
    _demand(isinstance(value, kind), _WORDS[kind], value, where)
    return value


def _demand(met: bool, wanted: str, value: Any, where: str) -> None:
    if not met:
        raise DataError(f"{where} must be {wanted}, not {shown(value)}")


def _check_references(tables: Mapping[str, Mapping[str, Record]], where: str) -> None:
    products, users, orders = (tables[kind] for kind in ("products", "users", "orders"))
    for user_id, user in users.items():
        for order_id in user["orders"]:
            if order_id not in orders:
                raise DataError(
                    f"{where}: users[{user_id!r}].orders names order {order_id!r}, which is unknown"
                )
    for order_id, order in orders.items():
        at = f"{where}: orders[{order_id!r}]"
        if order["user_id"] not in users:
            raise DataError(f"{at}.user_id names user {order['user_id']!r}, who is unknown")
        if not order["payment_history"]:
            raise DataError(f"{at}.payment_history is empty; an order has at least one payment")
        for i, item in enumerate(order["items"]):
            if item["product_id"] not in products:
                raise DataError(
                    f"{at}.items[{i}].product_id names product {item['product_id']!r}, "
                    "which is unknown"
                )
