"""What supervised training learns from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Example"]


class Example(NamedTuple):
    """One sequence to learn from.

    Attributes:
        weights: how much each token counts; 0 for what is only read.
    """

    tokens: Sequence[int]
    weights: Sequence[float]
