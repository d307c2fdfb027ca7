"""Factual error (table 9): amounts move by 10 to 25 %, and stay plausible."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial

from bench2robust.core.canonical import Json
from bench2robust.core.keyed import uniform
from bench2robust.core.paths import MISSING, Path
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel
from bench2robust.injectors.kernels.edit import edited

__all__ = ["KERNEL", "moved"]

_KINDS = frozenset((int, float, str))
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,30})?")


def _corrupt(ctx: Context) -> Corruption | None:
    amounts = ctx.fields.amounts
    if not amounts:
        return None
    change = partial(_wrong, ctx.value_key())
    return edited(ctx.body, [(pattern, change) for pattern in amounts])


def _wrong(key: str, path: Path, value: Json) -> Json:
    """Return a wrong amount of the same type: int, float, or a number as text."""
    kind = type(value)
    if kind not in _KINDS:
        return MISSING
    text = str(value)
    if kind is float and "e" in text:
        text = format(Decimal(text), "f")
    wrong = moved(text, uniform(key, *path))
    return kind(wrong) if wrong is not None else MISSING


def moved(text: str, u: float) -> str | None:
    """Return a decimal number moved by 10 to 25 % up or down, with as many decimals.

    The step is drawn on the grid of the last decimal, so the bounds hold exactly and the result
    never equals the original. A number too small for such a step (1, 2 or 3 units of its last
    decimal) moves one unit up.

    Args:
        text: a decimal number, without exponent.
        u: in [0, 1), decides direction and size.

    Returns:
        The moved number as text; None for zero, and for what is no plain number.
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    whole, point, decimals = text.partition(".")
    units = int(whole + decimals)
    if units == 0:
        return None
    sign = "-" if units < 0 else ""
    units = abs(units)
    digits = str(units + _step(units, u)).zfill(len(decimals) + 1)
    whole_digits = len(digits) - len(decimals)
    return f"{sign}{digits[:whole_digits]}{point}{digits[whole_digits:]}"


def _step(units: int, u: float) -> int:
    low, high = -(-units // 10), units // 4
    if low > high:
        return 1
    size, down = divmod(int(u * 2 * (high - low + 1)), 2)
    return -(low + size) if down else low + size


KERNEL = Kernel("factual_error", False, "Amounts move by 10 to 25 %.", _corrupt)
