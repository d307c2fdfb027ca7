"""Arguments that would keep a tool busy for ever, or fill the memory.

A deadline cannot end what goes on inside the interpreter without a look around, so such calls have
to be refused. Only the calculator makes any: its powers and precisions have no bounds, and a text
or a list times a number is a long one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bench2robust.core.canonical import Json

__all__ = ["too_much"]

_DIGITS = 1_000
"""Decimal digits of a result or a precision that are worked out."""
_UNITS = frozenset(("unit_in", "unit_out"))


def too_much(tool: str, arguments: Mapping[str, Json]) -> str:
    """Return why a call of the calculator is not made; empty if it is."""
    for name, value in arguments.items():
        if name not in _UNITS and not _countable(name, value):
            return f"argument {name!r} of {tool} must hold numbers"
        if name in ("precision", "decimal_places") and _size(value) > _DIGITS:
            return f"argument {name!r} of {tool} must be at most {_DIGITS}"
    if tool == "power" and _long_power(arguments):
        return f"the result of {tool} would have more than {_DIGITS} digits"
    return ""


def _countable(name: str, value: Json) -> bool:
    if name == "numbers":
        return isinstance(value, list) and all(_countable("", item) for item in value)
    return isinstance(value, (int, float)) and _size(value) < 10**_DIGITS


def _size(value: Json) -> float:
    return abs(value) if isinstance(value, (int, float)) else 0


def _long_power(arguments: Mapping[str, Json]) -> bool:
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if not isinstance(base, int) or not isinstance(exponent, int):
        return False  # a power of a float is a float
    return math.log10(abs(base) + 1) * abs(exponent) > _DIGITS
