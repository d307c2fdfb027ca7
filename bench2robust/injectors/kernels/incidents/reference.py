"""Reference substitution (class B): a resolver picked a wrong target that exists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench2robust.core.canonical import Json
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import id_leaves, incident

__all__ = ["KERNEL"]

_DIGITS = re.compile(r"\d+(?=\D*$)")
_SHAPE = ((re.compile(r"[a-z]+"), "a"), (re.compile(r"[A-Z]+"), "A"), (re.compile(r"\d"), "9"))


def _substitute(ctx: Context, value: Json) -> Sequence[Place]:
    """Exchange the first id with the next other one of its shape, or make one up."""
    ids = list(id_leaves(value))
    if not ids:
        return ()
    place, first = ids[0]
    for other_place, other in ids[1:]:
        if other != first and type(other) is type(first) and _shape(other) == _shape(first):
            return [(place, other), (other_place, first)]
    return [(place, _made_up(first))]


def _shape(value: Json) -> str:
    text = str(value)
    for pattern, sign in _SHAPE:
        text = pattern.sub(sign, text)
    return text


def _made_up(value: Json) -> Json:
    """Return an id of the same shape: each digit of the last run of digits, plus 3."""
    text = _DIGITS.sub(lambda run: "".join(str((int(d) + 3) % 10) for d in run[0]), str(value))
    return type(value)(text)


KERNEL = incident("ref_id_substitution", "An id is another one of its shape.", _substitute)
