"""Differences as whole numbers of a common step, so that distributions can be counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

__all__ = ["on_lattice"]

_LARGEST_DENOMINATOR = 10_000
_TOLERANCE = 1e-12


def on_lattice(values: Sequence[float], reach: int) -> tuple[list[int], int] | None:
    """Return integers ``n`` and a ``scale`` with ``values[i] == n[i] / scale``.

    Sums of such values lie on the lattice 1 / scale. A float counts as the fraction it was meant
    to be (0.1 as 1/10) if that is within 1e-12.

    Args:
        reach: the largest sum of absolute integers that is still worth counting.

    Returns:
        None if the values share no small step, or reach too far: distributions over them are then
        sampled.
    """
    if all(isinstance(value, int) for value in values):
        whole = [int(value) for value in values]
        return (whole, 1) if sum(map(abs, whole)) <= reach else None
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in values]
    if any(abs(float(f) - v) > _TOLERANCE for f, v in zip(fractions, values, strict=True)):
        return None
    scale = lcm(*(fraction.denominator for fraction in fractions))
    integers = [int(fraction * scale) for fraction in fractions]
    return (integers, scale) if sum(map(abs, integers)) <= reach else None
