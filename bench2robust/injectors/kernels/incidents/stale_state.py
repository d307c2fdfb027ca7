"""Stale declared state (class E): what was declared and what ran differed, in silence, for days."""

from __future__ import annotations

import re
from datetime import date, timedelta

from bench2robust.core.canonical import Json
from bench2robust.core.paths import leaves
from bench2robust.injectors.kernels.base import Context
from bench2robust.injectors.kernels.edit import Place
from bench2robust.injectors.kernels.incidents.leaves import incident, is_number, key_of, status_like

__all__ = ["KERNEL"]

_DECLARED = ("registered", "ok", "active")
_COUNT = re.compile(r"(?:^|_)(?:count|counts|progress|processed|completed|quantity)$", re.I)
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?=$|[T ])")
_SILENCE = timedelta(days=60)


def _declare(ctx: Context, value: Json) -> list[Place]:
    states: list[Place] = []
    counts: list[Place] = []
    declared = False
    for path, leaf in leaves(value):
        if isinstance(leaf, str) and (back := _earlier(leaf)):
            states.append((path, back))
        elif status_like(path, leaf) and (isinstance(leaf, bool) or not declared):
            declared |= isinstance(leaf, str)
            states.append((path, True if isinstance(leaf, bool) else _other(leaf)))
        elif is_number(leaf) and _COUNT.search(key_of(path)):
            counts.append((path, type(leaf)(0)))
    return [*states, *counts] if states else []


def _other(state: str) -> str:
    return next(word for word in _DECLARED if word != state)


def _earlier(text: str) -> str:
    """Return an ISO date or time 60 days earlier; empty if the text is none."""
    found = _DATE.match(text)
    if found is None:
        return ""
    try:
        return f"{date.fromisoformat(found[1]) - _SILENCE}{text[found.end() :]}"
    except (ValueError, OverflowError):
        return ""


KERNEL = incident(
    "stale_declared_state", "A state that was declared once, with counts at 0.", _declare
)
