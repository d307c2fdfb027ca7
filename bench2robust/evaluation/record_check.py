"""Whether a record or row that was read is one that this package could have written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from bench2robust.core.errors import shown
from bench2robust.core.types import Scenario
from bench2robust.evaluation.record import SCHEMA_VERSION, EpisodeRecord

__all__ = ["problem", "row_checker"]

Fits: TypeAlias = Callable[[Any], bool]

_EVENTS: tuple[Mapping[str, type], ...] = (
    {"user": str},
    {"say": str},
    {"unread": str},
    {"harness": str},
    {"call": str, "args": dict, "error": bool, "result": str},
    {"call": str, "args": dict, "error": bool, "result": str, "content": str},
)


def problem(record: Mapping[str, Any]) -> str:
    """Say what is wrong with a record; empty if nothing is."""
    if wrong := _first_wrong(record, _FIELDS, _OPTIONAL):
        return wrong
    if record["schema"] != SCHEMA_VERSION:
        return f"schema is {record['schema']}, not {SCHEMA_VERSION}: another version wrote it"
    return ""


def row_checker(kind: type) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that says what is wrong with a row of a ``TypedDict``; empty if nothing."""
    fields, optional = _tests_of(get_type_hints(kind)), _optional(kind)
    return lambda row: _first_wrong(row, fields, optional)


def _first_wrong(
    row: Mapping[str, Any], fields: Mapping[str, Fits], optional: Collection[str]
) -> str:
    for name, fits in fields.items():
        if name not in row:
            if name in optional:
                continue
            return f"the field {name} is missing"
        if not fits(row[name]):
            return f"{name} cannot be {shown(row[name])}"
    return ""


def _tests_of(hints: Mapping[str, Any]) -> dict[str, Fits]:
    return {name: _fits(hint) for name, hint in hints.items()}


def _optional(kind: type) -> set[str]:
    hints = get_type_hints(kind, include_extras=True)
    return {name for name, hint in hints.items() if get_origin(hint) is NotRequired}


def _fits(hint: Any) -> Fits:
    """Return the test for values of an annotated type."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, UnionType):
        tests = [_fits(part) for part in parts]
        return lambda value: any(test(value) for test in tests)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in parts
    if origin is list:
        test = _fits(parts[0])
        return lambda value: type(value) is list and all(map(test, value))
    if is_typeddict(hint):
        return _has(get_type_hints(hint))
    kinds = (float, int) if hint is float else (origin or hint,)
    return lambda value: type(value) in kinds


def _has(hints: Mapping[str, Any]) -> Fits:
    tests = _tests_of(hints)
    return lambda value: (
        type(value) is dict and all(k in value and fits(value[k]) for k, fits in tests.items())
    )


def _is_change(value: Any) -> bool:
    return type(value) is list and len(value) == 3 and type(value[0]) is str


def _is_event(value: Any) -> bool:
    return type(value) is dict and any(
        value.keys() == shape.keys() and all(type(value[k]) is kind for k, kind in shape.items())
        for shape in _EVENTS
    )


def _field_tests() -> dict[str, Fits]:
    tests = _tests_of(get_type_hints(EpisodeRecord))
    well_formed = tests["faults"]
    tests["scenario"] = tests["realized"] = _fits(Scenario | NoneType)
    tests["faults"] = lambda value: (
        well_formed(value) and all(_is_change(c) for row in value for c in row["changes"])
    )
    tests["events"] = lambda value: type(value) is list and all(map(_is_event, value))
    return tests


_FIELDS = _field_tests()
_OPTIONAL = _optional(EpisodeRecord)
