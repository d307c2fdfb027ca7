"""Contracts for people: each invariant in words, and what differs between two contracts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from bench2robust.core.canonical import Json, canonical
from bench2robust.monitors.affine import read_relation
from bench2robust.monitors.contract import Contract, Invariant

__all__ = ["Difference", "differences", "in_words"]

_MOST = 12


def in_words(invariant: Invariant) -> str:
    """Return what an invariant asks for."""
    params = invariant.params
    match invariant.code:
        case "explicit_error":
            normal = params.get("nominal") or ()
            return "tells of no error" + (f", but for {_listed(normal)}" if normal else "")
        case "missing_learned_field":
            return "is there"
        case "unexpected_field":
            return f"has no keys but {_listed(params['keys'])}"
        case "learned_type_mismatch":
            return f"is {' or '.join(map(str, params['types']))}"
        case "learned_echo_mismatch":
            return f"equals the argument {params['argument'][1:]} ({params['level']})"
        case "nonpositive_value":
            return "is positive"
        case "unseen_category":
            return f"is one of {_listed(params['values'])}"
        case "affine_relation_broken":
            return str(read_relation(params))
    return canonical(dict(params))


def _listed(values: list[Json]) -> str:
    shown = ", ".join(map(str, values[:_MOST]))
    return shown if len(values) <= _MOST else f"{shown}, … ({len(values)} in all)"


Sign: TypeAlias = Literal["+", "-", "~"]


class Difference(NamedTuple):
    """One invariant that only one of two contracts has, or that they have differently.

    Attributes:
        sign: ``+`` only the new one has it, ``-`` only the old one, ``~`` both.
    """

    sign: Sign
    tool: str
    code: str
    path: str
    before: str
    after: str


def differences(old: Contract, new: Contract) -> Iterator[Difference]:
    """Yield what differs, tool by tool; support and source do not count."""
    for tool in sorted({*old.tools, *new.tools}):
        gone, come = _apart(old.tools.get(tool, ()), new.tools.get(tool, ()))
        for place in dict.fromkeys([*map(_place, gone), *map(_place, come)]):
            before = [i for i in gone if _place(i) == place]
            after = [i for i in come if _place(i) == place]
            for index in range(max(len(before), len(after))):
                yield _difference(tool, before[index : index + 1], after[index : index + 1])


def _apart(
    old: tuple[Invariant, ...], new: tuple[Invariant, ...]
) -> tuple[list[Invariant], list[Invariant]]:
    """Return what each side has that the other has not in the same words."""
    both = {i.key() for i in old} & {i.key() for i in new}
    return [i for i in old if i.key() not in both], [i for i in new if i.key() not in both]


def _place(invariant: Invariant) -> tuple[str, str]:
    return invariant.code, invariant.path


def _difference(tool: str, before: list[Invariant], after: list[Invariant]) -> Difference:
    sign: Sign = "~" if before and after else "-" if before else "+"
    code, path = _place((before or after)[0])
    texts = ("".join(map(in_words, side)) for side in (before, after))
    return Difference(sign, tool, code, path, *texts)
