"""What each invariant asks of a result: the definition that every faster way must agree with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.paths import Path
from bench2robust.monitors.affine import read_relation
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.echoes import LEVELS, agreement, is_scalar
from bench2robust.monitors.errors_told import alarms
from bench2robust.monitors.extensions import EXTENSIONS
from bench2robust.monitors.findings import Finding, Rule
from bench2robust.monitors.pointers import occurrences, pointer, split, unescape
from bench2robust.monitors.shape import KINDS
from bench2robust.monitors.violation import Violation

__all__ = ["RULES", "build_rule"]


def build_rule(invariant: Invariant) -> Rule:
    """Return the rule of an invariant.

    Raises:
        UnknownNameError: there is no class of that code.
        DataError: its parameters are wrong.
    """
    code = invariant.code
    if code not in RULES and code not in EXTENSIONS:
        raise UnknownNameError("class of invariants", code, (*RULES, *EXTENSIONS))
    try:
        return RULES[code](invariant) if code in RULES else EXTENSIONS[code].rule(invariant)
    except (KeyError, TypeError, ValueError) as error:
        where = f"The invariant {invariant.code} at {invariant.path or 'the whole result'!r}"
        raise DataError(f"{where} has wrong parameters: {error}.") from error


def _finding(
    invariant: Invariant, place: Path, expected: Json, observed: Json, detail: str
) -> Finding:
    return Finding(place, Violation(invariant.code, pointer(place), expected, observed, detail))


def _explicit_error(invariant: Invariant) -> Rule:
    nominal = frozenset(_list(invariant.params.get("nominal", []), "nominal", str))

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for alarm in alarms(result):
            if alarm.path not in nominal:
                place = tuple(map(unescape, split(alarm.path)))
                name = place[-1]
                detail = f"error-bearing field(s): {name}"
                yield _finding(invariant, place, "no error", alarm.value, detail)

    return rule


def _missing(invariant: Invariant) -> Rule:
    steps = split(invariant.path)
    if not steps:
        raise ValueError("the path must be that of a field")
    parent, key = steps[:-1], unescape(steps[-1])

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, parent):
            if type(held) is dict and key not in held:
                detail = f"missing nominal field {key}"
                yield _finding(invariant, (*place, key), "present", "absent", detail)

    return rule


def _types(invariant: Invariant) -> Rule:
    names = _list(invariant.params["types"], "types", str)
    unknown = set(names) - set(KINDS.values())
    if unknown or not names:
        raise ValueError(f"types must be JSON Schema names, not {sorted(unknown)}")
    steps = split(invariant.path)

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, steps):
            observed = type_name(held)
            if not _is_of(held, observed, names):
                detail = f"field {_name(place)} has unexpected type {observed}"
                yield _finding(invariant, place, names, observed, detail)

    return rule


def type_name(value: Json) -> str:
    """Return the JSON Schema name of a value's type, or ``non-finite number``."""
    if type(value) is float and not math.isfinite(value):
        return "non-finite number"
    return KINDS.get(type(value), type(value).__name__)


def _is_of(value: Json, name: str, names: list[str]) -> bool:
    if name in names or (name == "integer" and "number" in names):
        return True
    return name == "number" and "integer" in names and value == int(value)


def _echo(invariant: Invariant) -> Rule:
    argument, level = invariant.params["argument"], LEVELS[invariant.params["level"]]
    if not isinstance(argument, str):
        raise ValueError("argument must be a pointer into the arguments")
    steps, source = split(invariant.path), split(argument)
    name = unescape(source[-1]) if source else ""

    def rule(arguments: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for _, wanted in occurrences(dict(arguments), source):
            if is_scalar(wanted):
                for place, held in occurrences(result, steps):
                    if is_scalar(held) and not agreement(wanted, held) & level:
                        detail = f"field {_name(place)} differs from call argument {name}"
                        yield _finding(invariant, place, wanted, held, detail)

    return rule


def _positive(invariant: Invariant) -> Rule:
    steps = split(invariant.path)

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, steps):
            if type(held) in (int, float) and held <= 0:
                detail = f"nominally positive field {_name(place)} is not positive"
                yield _finding(invariant, place, "> 0", held, detail)

    return rule


def _category(invariant: Invariant) -> Rule:
    values = invariant.params["values"]
    if not isinstance(values, list) or not values:
        raise ValueError("values must be a list that is not empty")
    kinds = {type(value) for value in values}
    if not kinds <= {str, int, bool}:
        raise ValueError("values must be texts, whole numbers or booleans")
    known = {(type(value), _norm(value)) for value in values}
    steps = split(invariant.path)

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, steps):
            if type(held) in kinds and (type(held), _norm(held)) not in known:
                detail = f"field {_name(place)} has unseen categorical value"
                yield _finding(invariant, place, values, held, detail)

    return rule


def _norm(value: Json) -> Json:
    return value.casefold() if type(value) is str else value


def _affine(invariant: Invariant) -> Rule:
    relation = read_relation(invariant.params)
    keys = [_place(term.path) for _, term in relation.terms]

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        sides = relation.sides(result)
        if sides is not None and not relation.holds(result):
            names = " and ".join(dict.fromkeys(".".join(map(str, key)) or "$" for key in keys))
            detail = f"fields {names} violate a nominal relation: {relation}"
            expected = {"relation": str(relation), "value": sides[0]}
            yield _finding(invariant, keys[0], expected, sides[1], detail)

    return rule


def _place(path: str) -> Path:
    """Return the place of a term: the list, where the term is over a list."""
    return tuple(map(unescape, split(path.partition("/*")[0])))


def _closed(invariant: Invariant) -> Rule:
    keys = frozenset(_list(invariant.params["keys"], "keys", str))
    steps = split(invariant.path)

    def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
        for place, held in occurrences(result, steps):
            if type(held) is dict and not keys.issuperset(held):
                for key in held:
                    if key not in keys:
                        detail = f"field absent from nominal traces: {key[:80]}"
                        yield _finding(invariant, (*place, key), "absent", held[key], detail)

    return rule


def _name(place: Path) -> str:
    names = [step for step in place if isinstance(step, str)]
    return names[-1] if names else "result"


def _list(value: Any, name: str, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(type(item) is kind for item in value):
        raise ValueError(f"{name} must be a list of {kind.__name__}")
    return value


RULES: dict[str, Callable[[Invariant], Rule]] = {
    "explicit_error": _explicit_error,
    "missing_learned_field": _missing,
    "learned_type_mismatch": _types,
    "learned_echo_mismatch": _echo,
    "nonpositive_value": _positive,
    "unseen_category": _category,
    "affine_relation_broken": _affine,
    "unexpected_field": _closed,
}
"""Code -> what makes the rule of an invariant of that class."""
