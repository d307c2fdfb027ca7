"""Rate limit (table 9): HTTP 429, with the time to wait."""

from __future__ import annotations

from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_WAITS = (1, 2, 5, 10, 30)


def _corrupt(ctx: Context) -> Corruption:
    wait = ctx.choose(_WAITS, "retry after")
    return Corruption(
        f"Error: HTTP 429 Too Many Requests. Retry-After: {wait} seconds",
        True,
        latency=ctx.between(0.05, 0.3, "latency"),
        retry_after=float(wait),
    )


KERNEL = Kernel("rate_limit", True, "HTTP 429 with the seconds to wait.", _corrupt)
