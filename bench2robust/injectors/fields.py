"""The decision-critical fields of a result of which nothing is known, read off the result itself.

What a tool of somebody else's returns is guessed as an incident fault guesses it: by the names of
fields and the form of values. Amounts are numbers that are no ids; states are texts that stand in
a common life cycle; contents are the texts, lists and objects at the top.
"""

from __future__ import annotations

from functools import lru_cache

from bench2robust.core.canonical import Json, parse_json
from bench2robust.core.paths import Path, Pattern, leaves
from bench2robust.core.types import ResultFields, ToolSpec
from bench2robust.injectors.kernels.incidents.leaves import id_leaves, is_number, status_like

__all__ = ["LIFE_CYCLES", "critical_fields", "fields_of_result"]

LIFE_CYCLES: tuple[tuple[str, ...], ...] = (
    ("pending", "processing", "processed", "shipped", "in_transit", "delivered"),
    ("queued", "scheduled", "running", "succeeded"),
    ("todo", "in_progress", "in_review", "done"),
    ("open", "in progress", "resolved", "closed"),
    ("draft", "submitted", "approved", "published", "archived"),
    ("created", "confirmed", "active", "completed"),
    ("unpaid", "authorized", "paid", "refunded"),
)
"""States in the order in which things usually pass through them."""

_WHOLE = ResultFields(contents=((),), amounts=((),))


def critical_fields(spec: ToolSpec, content: str) -> ResultFields:
    """Return the decision-critical fields of a tool's result.

    Of a tool whose fields are derived, those that it declares and, for each of the three kinds of
    which it declares none, those of this result.
    """
    declared = spec.fields
    if not spec.derived:
        return declared
    found = fields_of_result(content)
    return ResultFields(
        declared.contents or found.contents,
        declared.states or found.states,
        declared.amounts or found.amounts,
    )


@lru_cache(maxsize=1024)
def fields_of_result(content: str) -> ResultFields:
    """Return the decision-critical fields of a result; of a text that is no JSON, itself."""
    try:
        value = parse_json(content) if content[:1] in ("{", "[") else content
    except ValueError:
        return _WHOLE
    if not isinstance(value, (dict, list)):
        return _WHOLE
    ids = {path for path, _ in id_leaves(value)}
    known = [(path, leaf) for path, leaf in leaves(value) if path not in ids]
    return ResultFields(_contents(value, ids), _states(known), _amounts(known))


def _contents(value: Json, ids: set[Path]) -> tuple[Pattern, ...]:
    if isinstance(value, list):
        return ((),)
    return tuple(
        (key,)
        for key, item in value.items()
        if isinstance(item, (str, list, dict)) and (key,) not in ids and not _state((key,), item)
    )


def _state(path: Path, value: Json) -> bool:
    return not isinstance(value, (dict, list)) and status_like(path, value)


def _states(known: list[tuple[Path, Json]]) -> tuple[tuple[Pattern, tuple[str, ...]], ...]:
    found: dict[tuple[Pattern, tuple[str, ...]], None] = {}
    for path, leaf in known:
        order = next((c for c in LIFE_CYCLES if leaf in c[1:]), None)
        if order is not None and isinstance(leaf, str):
            found[_pattern(path), order] = None
    return tuple(found)


def _amounts(known: list[tuple[Path, Json]]) -> tuple[Pattern, ...]:
    return tuple(dict.fromkeys(_pattern(path) for path, leaf in known if is_number(leaf)))


def _pattern(path: Path) -> Pattern:
    return tuple("*" if isinstance(step, int) else step for step in path)
