"""Auth error (table 9): HTTP 401 or 403."""

from __future__ import annotations

from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_ANSWERS = ("401 Unauthorized", "403 Forbidden")


def _corrupt(ctx: Context) -> Corruption:
    answer = ctx.choose(_ANSWERS, "answer")
    return Corruption(f"Error: HTTP {answer}", True, latency=ctx.between(0.05, 0.2, "latency"))


KERNEL = Kernel("auth_error", True, "HTTP 401 or 403.", _corrupt)
