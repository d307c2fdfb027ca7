"""Partial (table 9): decision-critical fields come back empty."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.paths import MISSING, Path
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel
from bench2robust.injectors.kernels.edit import edited

__all__ = ["KERNEL"]


def _corrupt(ctx: Context) -> Corruption | None:
    return edited(ctx.body, [(pattern, _empty) for pattern in ctx.fields.contents])


def _empty(_: Path, value: Json) -> Json:
    """Return the empty value of the same type; numbers have none, and empty stays empty."""
    return type(value)() if value and isinstance(value, (str, list, dict)) else MISSING


KERNEL = Kernel("partial", False, "Critical fields come back empty.", _corrupt)
