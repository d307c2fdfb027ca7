"""The data of a retail suite, whatever its source, in τ²-bench's schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.core.types import Task

__all__ = ["Record", "RetailData"]

Record = dict[str, Any]
"""One product, user or order as parsed JSON."""


@dataclass(frozen=True, slots=True)
class RetailData:
    """Products, users and orders by id, tasks, and the policy text.

    Attributes:
        source: ``builtin``, ``tau2`` or ``tau1``.
        notes: remarks on the suite that every evaluation prints (flagged tasks and why).
    """

    source: str
    products: Mapping[str, Record]
    users: Mapping[str, Record]
    orders: Mapping[str, Record]
    tasks: tuple[Task, ...]
    policy: str
    notes: tuple[str, ...] = ()
