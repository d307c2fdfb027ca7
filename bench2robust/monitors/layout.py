"""The invariants of a tool arranged by place, as compiling needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench2robust.core.canonical import Json
from bench2robust.monitors.affine import Relation, read_relation
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.pointers import EACH, EVERY, split, unescape

__all__ = ["Layout", "Spot", "arranged"]


_PLAIN = tuple(frozenset((name,)) for name in ("string", "boolean", "null", "integer"))


@dataclass
class Spot:
    """A place in a result and what is asked of it.

    Attributes:
        types: JSON Schema names, or None where any type will do.
        positive: numbers must be positive.
        values: the domain, where it has one.
        echoes: (argument pointer, level) that it must repeat.
        keys: all keys that an object may have, or None.
        required: the keys that it must have.
        fields: key -> the place below it.
        each: the place of list elements.
        every: the place of the values whose keys are data.
    """

    types: frozenset[str] | None = None
    positive: bool = False
    values: list[Json] | None = None
    echoes: list[tuple[str, str]] = field(default_factory=list)
    keys: frozenset[str] | None = None
    required: set[str] = field(default_factory=set)
    fields: dict[str, Spot] = field(default_factory=dict)
    each: Spot | None = None
    every: Spot | None = None

    def at(self, steps: Iterable[str]) -> Spot:
        """Return the place that steps lead to, made if it is new."""
        spot = self
        for step in steps:
            if step == EACH:
                spot.each = spot = spot.each or Spot()
            elif step == EVERY:
                spot.every = spot = spot.every or Spot()
            else:
                spot = spot.fields.setdefault(unescape(step), Spot())
        return spot

    def is_plain(self) -> bool:
        """Say whether one type, which holds nothing and is no number, is all that is asked."""
        return self == Spot(types=self.types) and self.types in _PLAIN


@dataclass
class Layout:
    """What is asked of the results of a tool.

    Attributes:
        root: the whole result.
        relations: the linear relations.
        lexical: whether error-bearing fields count.
        nominal: the paths of such fields that are normal.
    """

    root: Spot = field(default_factory=Spot)
    relations: list[Relation] = field(default_factory=list)
    lexical: bool = False
    nominal: frozenset[str] = frozenset()


def arranged(invariants: Iterable[Invariant]) -> Layout:
    """Return the layout of invariants (of the eight classes)."""
    layout = Layout()
    for invariant in invariants:
        _place(layout, invariant)
    return layout


def _place(layout: Layout, invariant: Invariant) -> None:
    code, params, steps = invariant.code, invariant.params, split(invariant.path)
    if code == "explicit_error":
        layout.lexical = True
        layout.nominal |= frozenset(params.get("nominal", ()))
    elif code == "affine_relation_broken":
        layout.relations.append(read_relation(params))
    elif code == "missing_learned_field":
        layout.root.at(steps[:-1]).required.add(unescape(steps[-1]))
        layout.root.at(steps)
    else:
        _constrain(layout.root.at(steps), invariant)


def _constrain(spot: Spot, invariant: Invariant) -> None:
    """Add an invariant of one place; where two say the same kind of thing, both must hold."""
    code, params = invariant.code, invariant.params
    if code == "learned_type_mismatch":
        names = frozenset(params["types"])
        spot.types = names if spot.types is None else spot.types & names
    elif code == "nonpositive_value":
        spot.positive = True
    elif code == "unseen_category":
        values = list(params["values"])
        spot.values = values if spot.values is None else [v for v in values if v in spot.values]
    elif code == "learned_echo_mismatch":
        spot.echoes.append((params["argument"], params["level"]))
    elif code == "unexpected_field":
        keys = frozenset(params["keys"])
        spot.keys = keys if spot.keys is None else spot.keys & keys
