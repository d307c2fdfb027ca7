"""Malformed response (table 9): a body that does not parse."""

from __future__ import annotations

from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_EXCERPT = 240
"""Characters of the body that a client quotes at most."""


def _corrupt(ctx: Context) -> Corruption:
    quote = ctx.choose((_unquoted, _truncated, _mangled), "damage")
    # The body of a write is never quoted: it would tell whether the write ran.
    quotable = ctx.body and ctx.spec.kind != "write"
    text = quote(ctx) if quotable else _unquoted(ctx)
    return Corruption(
        f"Error: could not parse the response as JSON{text}",
        True,
        latency=ctx.between(0.1, 2.0, "latency"),
    )


def _unquoted(ctx: Context) -> str:
    column = int(ctx.between(2, 400, "column"))
    return f": unexpected token at line 1 column {column}"


def _truncated(ctx: Context) -> str:
    end = max(1, int(ctx.between(0.2, 0.8, "cut") * min(len(ctx.body), _EXCERPT)))
    return f" (unexpected end of input): {ctx.body[:end]}"


def _mangled(ctx: Context) -> str:
    start = int(ctx.between(0, 3, "phase"))
    body = list(ctx.body[:_EXCERPT])
    body[start::3] = "\ufffd" * len(body[start::3])
    return f" (invalid characters): {''.join(body)}"


KERNEL = Kernel("malformed_response", True, "A body that does not parse as JSON.", _corrupt)
