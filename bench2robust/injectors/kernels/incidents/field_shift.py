"""Positional field shift (class B): a parser in steps of three met an omitted line."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.core.canonical import Json
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import incident, mappings

__all__ = ["KERNEL"]

FILLER = "---"


def _shift(ctx: Context, value: Json) -> Sequence[Place]:
    """Drop the second value of the first object with three; later ones move up, a line closes."""
    for path, mapping in mappings(value):
        scalars = [(k, v) for k, v in mapping.items() if not isinstance(v, (dict, list))]
        if len(scalars) >= 3:
            moved = [*(v for _, v in scalars[2:]), FILLER]
            return [
                ((*path, key), after) for (key, _), after in zip(scalars[1:], moved, strict=True)
            ]
    return ()


KERNEL = incident("positional_field_shift", "A value is lost, and the next ones move up.", _shift)
