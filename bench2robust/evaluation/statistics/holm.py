"""Holm's correction for a family of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

__all__ = ["holm"]

K = TypeVar("K")


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Return the adjusted p-values of one family, in the order given (Holm 1979).

    Rejecting where the adjusted value is at most α keeps the chance of any false rejection in the
    family at most α, however the tests depend on one another.
    """
    adjusted: dict[K, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
