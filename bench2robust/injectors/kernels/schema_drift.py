"""Schema drift (table 9): client and server no longer agree on a field."""

from __future__ import annotations

from bench2robust.core.canonical import parse_result
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel

__all__ = ["KERNEL"]

_COMPLAINTS = ("Unknown field '{}_v2'", "Required field '{}' is missing")


def _corrupt(ctx: Context) -> Corruption:
    complaint = ctx.choose(_COMPLAINTS, "complaint").format(ctx.choose(_names(ctx), "field"))
    return Corruption(f"Error: {complaint}", True, latency=ctx.between(0.1, 0.5, "latency"))


def _names(ctx: Context) -> list[str]:
    """Return real field names: of the result's critical fields, else the parameters', else any.

    The tool's description comes first, so that the text does not depend on whether the call ran.
    """
    fields = ctx.spec.fields
    patterns = [*fields.contents, *(p for p, _ in fields.states), *fields.amounts]
    names = {step for pattern in patterns for step in pattern if step != "*"}
    names = names or set(ctx.spec.parameters.get("properties", ()))
    result = parse_result(ctx.body)
    if not names and isinstance(result, dict):
        names = set(result)
    return sorted(names) or ["data"]


KERNEL = Kernel("schema_drift", True, "An unknown or missing field is reported.", _corrupt)
