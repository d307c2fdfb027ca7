"""The faults of the τ-bench and AppWorld studies, which their contracts can express by design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from bench2robust.core.canonical import Json
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.paths import MISSING, Path, Pattern, leaves, matches
from bench2robust.core.types import ResultFields
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.factual_error import moved
from bench2robust.injectors.kernels.incidents.leaves import (
    incident,
    is_number,
    mappings,
    status_like,
)

__all__ = ["KERNELS", "conserved", "out_of_set"]

UNHEARD = "in_limbo"
_SAME = 1e-6


def out_of_set(ctx: Context, value: Json) -> Sequence[Place]:
    """Give every field that has a life cycle a state outside it; without one, the first state."""
    patterns = [pattern for pattern, _ in ctx.spec.fields.states]
    if patterns:
        return [(path, UNHEARD) for path, _ in _matching(value, patterns)]
    states = ((p, v) for p, v in leaves(value) if isinstance(v, str) and status_like(p, v))
    return [(path, UNHEARD) for path, _ in [*states][:1]]


def conserved(fields: ResultFields, value: Json) -> tuple[Pattern, Pattern] | None:
    """Return two amounts of a result whose sums are equal, such as prices and payments.

    None if no two are: then there is nothing to break.
    """
    for pair in combinations(fields.amounts, 2):
        sums = [
            sum(float(leaf) for _, leaf in _matching(value, [pattern]) if is_number(leaf))
            for pattern in pair
        ]
        if sums[0] and abs(sums[0] - sums[1]) <= _SAME * abs(sums[0]):
            return pair
    return None


def _break(ctx: Context, value: Json) -> Sequence[Place]:
    """Move one amount of a sum that equals another by 10 to 25 %."""
    pair = conserved(ctx.spec.fields, value)
    if pair is None:
        return ()
    path, amount = next((p, v) for p, v in _matching(value, pair[:1]) if is_number(v) and v)
    wrong = moved(str(amount), uniform(ctx.value_key(), *path))
    return [(path, type(amount)(wrong))] if wrong is not None else ()


def _drop(ctx: Context, value: Json) -> Sequence[Place]:
    place = _field(ctx, value)
    return [(place[0], MISSING)] if place else ()


def _flip(ctx: Context, value: Json) -> Sequence[Place]:
    """Give a field a value of another type: a text its length, anything else its text."""
    place = _field(ctx, value)
    if place is None:
        return ()
    path, leaf = place
    return [(path, len(leaf) if isinstance(leaf, str) else str(leaf))]


def _field(ctx: Context, value: Json) -> Place | None:
    """Return a scalar field of the first object that has two, the same at each fetch."""
    for path, mapping in mappings(value):
        scalars = [k for k, v in mapping.items() if not isinstance(v, (dict, list, type(None)))]
        if len(scalars) >= 2:
            key = choose(scalars, ctx.value_key(), "field")
            return (*path, key), mapping[key]
    return None


def _matching(value: Json, patterns: Sequence[Pattern]) -> Iterator[tuple[Path, Json]]:
    for path, leaf in leaves(value):
        if any(len(p) == len(path) and matches(p, path) for p in patterns):
            yield path, leaf


KERNELS = (
    incident("status_out_of_set", "A state that the domain does not have.", out_of_set),
    incident("broken_conservation", "One amount of an equal sum moves by 10 to 25 %.", _break),
    incident("missing_field", "A field is gone.", _drop),
    incident("type_flip", "A field has a value of another type.", _flip),
)
