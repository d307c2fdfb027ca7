"""Numbers that another function gives, with a division."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath
from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl.fallbacks.reading import Arguments, path

__all__ = ["MEAN", "VOLUME"]


def _number(result: Json, key: str) -> float | None:
    found = result.get(key) if isinstance(result, dict) else None
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _inverse(unit: str, other: str) -> FallbackPath:
    """Return the inverse: both factors are rounded, so that it gives another number."""
    target = f"{other}_to_{unit}"

    def one(arguments: Arguments) -> list[ToolCall]:
        return [ToolCall(target, {other: 1})]

    note = f"{unit}s in one {other}, right to one part in a million only"
    return path(f"{unit}_to_{other}", target, "none", note, one, lambda arguments, results: None)


VOLUME = FallbackClass(
    "volume",
    ("liter_to_gallon", "gallon_to_liter"),
    (_inverse("liter", "gallon"), _inverse("gallon", "liter")),
)


def _sum(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("sum_values", {"numbers": arguments["numbers"]})]


def _divided(arguments: Arguments, results: list[Json]) -> Json | None:
    total, numbers = _number(results[0], "result"), arguments["numbers"]
    return {"result": total / len(numbers)} if total is not None and numbers else None


MEAN = FallbackClass(
    "mean",
    ("mean", "sum_values"),
    (path("mean", "sum_values", "all", "the sum, to be divided by the count", _sum, _divided),),
)
