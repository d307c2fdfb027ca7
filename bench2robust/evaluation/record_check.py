"""Whether a record that was read is one that this package could have written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

__all__ = ["problem"]

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
    for name, fits in _FIELDS.items():
        if name not in record:
            if name in _OPTIONAL:
                continue
            return f"the field {name} is missing"
        if not fits(record[name]):
            return f"{name} cannot be {shown(record[name])}"
    if record["schema"] != SCHEMA_VERSION:
        return f"schema is {record['schema']}, not {SCHEMA_VERSION}: another version wrote it"
    return ""


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
    tests = {name: _fits(hint) for name, hint in hints.items()}
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
    tests = {name: _fits(hint) for name, hint in get_type_hints(EpisodeRecord).items()}
    well_formed = tests["faults"]
    tests["scenario"] = tests["realized"] = _fits(Scenario | NoneType)
    tests["faults"] = lambda value: (
        well_formed(value) and all(_is_change(c) for row in value for c in row["changes"])
    )
    tests["events"] = lambda value: type(value) is list and all(map(_is_event, value))
    return tests


_FIELDS = _field_tests()
_OPTIONAL = {
    name
    for name, hint in get_type_hints(EpisodeRecord, include_extras=True).items()
    if get_origin(hint) is NotRequired
}
