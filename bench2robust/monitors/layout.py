"""The invariants of a tool arranged by place, as compiling needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bench2robust.core.canonical import Json
from bench2robust.monitors.affine import Relation, read_relation
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.pointers import EACH, EVERY, escape, split, unescape

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

    def below(self, step: str) -> Spot | None:
        """Return the place of a required field, or None."""
        key = unescape(step)
        return self.fields.get(key) if key in self.required else None

    def is_implied(self) -> bool:
        """Say whether other tests of the place refuse every other type than its own.

        Only a text is in a set of texts, and only an object has a text as index, or items.
        """
        if self.types == frozenset(("string",)):
            return self.values is not None and all(type(value) is str for value in self.values)
        asked = self.required or any(field.is_listed() for field in self.fields.values())
        return self.types == frozenset(("object",)) and bool(asked)

    def is_listed(self) -> bool:
        """Say whether a type as in :meth:`is_plain`, or a domain of texts, is all that is asked."""
        texts = self.values is not None and all(type(value) is str for value in self.values)
        domain = texts and self.types in (None, frozenset(("string",)))
        return self.is_plain() or (domain and self == Spot(types=self.types, values=self.values))

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

    def named(self) -> Iterator[str]:
        """Yield the paths of the fields that relations need."""
        for relation in self.relations:
            yield relation.guard
            for _, term in relation.terms:
                parent = term.path.rpartition("/")[0]
                yield term.path
                keys = (key for key in (term.times, *term.where[:1]) if key)
                yield from (f"{parent}/{escape(key)}" for key in keys)


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
        _admit(spot, list(params["values"]))
    elif code == "learned_echo_mismatch":
        spot.echoes.append((params["argument"], params["level"]))
    elif code == "unexpected_field":
        keys = frozenset(params["keys"])
        spot.keys = keys if spot.keys is None else spot.keys & keys


def _admit(spot: Spot, values: list[Json]) -> None:
    """Narrow the domain of a place; a list of values says something of its own types only."""
    known, new = _by_type(spot.values or []), _by_type(values)
    both = known | new | {kind: known[kind] & new[kind] for kind in known.keys() & new.keys()}
    if not all(both.values()):
        spot.types = frozenset()  # they contradict each other: no value is sure to be clean
    spot.values = [value for held in both.values() for value in held]


def _by_type(values: list[Json]) -> dict[type, set[Json]]:
    found: dict[type, set[Json]] = {}
    for value in values:
        found.setdefault(type(value), set()).add(value)
    return found
