"""Timeout (table 9): no answer within the client's limit."""

from __future__ import annotations

from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_SECONDS = 30


def _corrupt(ctx: Context) -> Corruption:
    return Corruption(f"Error: request timed out after {_SECONDS}s", True, latency=float(_SECONDS))


KERNEL = Kernel("timeout", True, "No answer within 30 seconds.", _corrupt)
