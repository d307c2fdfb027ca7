"""Stale (table 9): states come back as they were earlier in their life cycle."""

from __future__ import annotations

from functools import partial

from bench2robust.core.canonical import Json
from bench2robust.core.keyed import choose
from bench2robust.core.paths import MISSING, Path
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel
from bench2robust.injectors.kernels.edit import edited

__all__ = ["KERNEL"]


def _corrupt(ctx: Context) -> Corruption | None:
    states = ctx.fields.states
    if not states:
        return None
    key = ctx.value_key()
    return edited(ctx.body, [(pattern, partial(_earlier, key, order)) for pattern, order in states])


def _earlier(key: str, order: tuple[str, ...], path: Path, state: Json) -> Json:
    """Return a state before ``state``; the first state and an unknown one have none."""
    position = order.index(state) if state in order else 0
    return choose(order[:position], key, *path) if position else MISSING


KERNEL = Kernel("stale", False, "States move back along their life cycle.", _corrupt)
