"""Corruption adoption: a deterministic check of what an agent believed.

A wrong value from a silent fault turns up as a whole token in a later call's arguments or in
something said later, and neither the user nor any true result had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.dataflow import Told
from bench2robust.core.honesty import numbers, scalars

__all__ = ["wrong_values_used"]


def wrong_values_used(
    values: Iterable[Json], later: Sequence[str], told: str, true: Iterable[str]
) -> int:
    """Return how many distinct wrong ``values`` an agent went on to use.

    Args:
        values: what silent corruption put in the place of true values.
        later: the arguments and messages that came after, as text.
        told: everything the user said.
        true: the true results of the episode, as text.
    """
    wrong = {key for v in values if (key := _key(v)) not in (None, "")}
    used = _among(wrong, "\n".join(later))
    if not used:  # the usual case, which spares the look through every true result
        return 0
    used -= _among(used, told)
    return len(used.difference(*map(_keys_in, true)))


@lru_cache(maxsize=1024)
def _keys_in(result: str) -> frozenset[str | float | None]:
    """Return the keys of a result, which is the same text in many episodes."""
    return frozenset(map(_key, scalars(parse_result(result))))


def _among(keys: Iterable[str | float | None], text: str) -> set[str | float | None]:
    """Return which of the ``keys`` stand in a text, which is read once for all of them."""
    amounts, words = numbers(text), Told(text)
    return {k for k in keys if (words.has(k) if isinstance(k, str) else k in amounts)}


def _key(value: Json) -> str | float | None:
    """Return what two equal values share; None for what cannot be recognised in a text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return round(float(value), 2)
    return value.strip().lower() if isinstance(value, str) else None
