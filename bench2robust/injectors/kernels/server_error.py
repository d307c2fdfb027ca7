"""Server error (table 9): HTTP 500, 502 or 503."""

from __future__ import annotations

from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_ANSWERS = ("500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable")


def _corrupt(ctx: Context) -> Corruption:
    answer = ctx.choose(_ANSWERS, "answer")
    return Corruption(f"Error: HTTP {answer}", True, latency=ctx.between(0.5, 5.0, "latency"))


KERNEL = Kernel("server_error", True, "HTTP 500, 502 or 503.", _corrupt)
