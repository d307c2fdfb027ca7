"""Compiling what a contract asks of a tool into one Python function.

The function says only whether a result is certainly clean, as fast as Python can: one visit, no
path lookups. Whatever it is unsure of it leaves to the rules (``rules.py``), which define what is
clean. Keys of a contract enter the source only as the ``repr`` of a text, which is one literal
whatever the text says; everything else is named ``K0``, ``K1``, … in it and lies in the globals of
the function. So no contract can say anything that is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.affine import Relation
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.echoes import LEVELS, agreement, is_scalar
from bench2robust.monitors.errors_told import ALARMING, CODE_KEYS, ERROR_KEYS, FLAG_KEYS, HTTP_ERROR
from bench2robust.monitors.layout import Layout, Spot, arranged
from bench2robust.monitors.lexicon import is_data_key
from bench2robust.monitors.nodes import KINDS
from bench2robust.monitors.pointers import EACH, escape, occurrences, split, unescape
from bench2robust.monitors.readers import reader
from bench2robust.monitors.terms import Term

__all__ = ["Test", "compiled", "source_of"]

Test = Callable[[Mapping[str, Json], Json], bool]
"""(arguments, result) -> whether the result is certainly clean."""

_TABLE = 3
"""From so many optional fields on a table is faster."""
_KINDS = {name: kind for kind, name in KINDS.items()}
_NUMBERS = frozenset(("integer", "number"))
_ANY = frozenset(_KINDS)
_NOTHING = Spot()
_HEAD = """def clean(arguments, result):
 try:"""
_TAIL = """  return True
 except (KeyError, TypeError, ValueError, OverflowError, AttributeError, NameError):
  return False"""


def compiled(invariants: Sequence[Invariant]) -> Test | None:
    """Return the function for the invariants of a tool, or None where they nest too deeply."""
    writer = _Writer(arranged(invariants))
    namespace: dict[str, Any] = writer.constants
    # A contract cannot run code: keys stand in the source as the repr of a text, and every other
    # value is a constant of the namespace.
    try:  # Python refuses more than 20 nested blocks, and more than 100 indents
        exec(compile(writer.source(), "<contract>", "exec"), namespace)
    except (SyntaxError, RecursionError, MemoryError):
        return None
    test: Test = namespace["clean"]
    return test


def source_of(invariants: Sequence[Invariant]) -> str:
    """Return the source of the function, to read."""
    return _Writer(arranged(invariants)).source()


class _Writer:
    """Writes one function.

    Attributes:
        constants: the globals of the function.
        places: path outside lists -> the variable with its value, where that is certain.
        named: the paths whose values relations need in a variable.
        sums: term over a list -> the variable of its sum.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {
            "MISSING": object(),
            "data_key": is_data_key,
            "agreement": agreement,
            "scalar": is_scalar,
            "argument": _argument,
        }
        self.places: dict[str, str] = {}
        self.sums: dict[Term, str] = {}
        self.named: frozenset[str] = frozenset()
        self._count = 0

    def source(self) -> str:
        """Return the source."""
        self.named = frozenset(self.layout.named())
        self._plan_sums()
        for name in self.sums.values():
            self._line(2, f"{name} = 0.0")
        self._spot(self.layout.root, "result", "", 2)
        for relation in self.layout.relations:
            self._relation(relation)
        return "\n".join((_HEAD, *_needed(self.lines), _TAIL))

    def _line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def _refuse(self, depth: int, condition: str) -> None:
        self.lines.append(f"{' ' * depth}if {condition}: return False")

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _constant(self, value: Any) -> str:
        name = self._new("K")
        self.constants[name] = value
        return name

    def _spot(self, spot: Spot, name: str, path: str, depth: int) -> None:
        """Write what is asked of the value in the variable ``name``."""
        self._type(spot, name, depth)
        self._value(spot, name, depth)
        for argument, level in spot.echoes:
            self._echo(argument, level, name, spot.types, depth)
        wants_object = spot.keys is not None or spot.required or spot.fields or spot.every
        if wants_object or self._may_alarm(path):
            inner = self._when(spot, name, "object", depth)
            if inner:
                self._object(spot, name, path, inner)
        if spot.each is not None:
            inner = self._when(spot, name, "array", depth)
            if inner:
                self._list(spot.each, name, path, inner)

    def _when(self, spot: Spot, name: str, kind: str, depth: int) -> int:
        """Write a test for a type, unless it is known; return the depth of what follows."""
        if spot.types == frozenset((kind,)):
            return depth
        if spot.types is not None and kind not in spot.types:
            return 0
        self._line(depth, f"if {name}.__class__ is {_KINDS[kind].__name__}:")
        self._line(depth + 1, "pass")
        return depth + 1

    def _type(self, spot: Spot, name: str, depth: int) -> None:
        types = spot.types
        if types is None or spot.is_implied():
            return
        if types <= _NUMBERS and "number" in types:
            self._refuse(depth, f"{name}.__class__ is not float and {name}.__class__ is not int")
        elif len(types) == 1:
            kind = "None" if types == frozenset(("null",)) else f"{_KINDS[min(types)].__name__}"
            self._refuse(depth, f"{name}{'' if kind == 'None' else '.__class__'} is not {kind}")
        else:
            kinds = {_KINDS[t] for t in types} | ({int} if "number" in types else set())
            self._refuse(depth, f"{name}.__class__ not in {self._constant(frozenset(kinds))}")
        if "number" in types and not (spot.positive and types <= _NUMBERS):
            only = "" if types <= _NUMBERS else f"{name}.__class__ is float and "
            self._refuse(depth, f"{only}{name} - {name} != 0")

    def _value(self, spot: Spot, name: str, depth: int) -> None:
        if spot.positive:
            if spot.types is not None and spot.types <= _NUMBERS:
                self._refuse(depth, f"not ({name} > 0.0 and {name} < 1e999)")
            else:
                numbers = self._constant(frozenset((int, float)))
                self._refuse(depth, f"{name}.__class__ in {numbers} and not {name} > 0")
        if spot.values is not None:
            kinds = frozenset(map(type, spot.values))
            sure = spot.types is not None and {_KINDS[t] for t in spot.types} <= kinds
            only = "" if sure else f"{name}.__class__ in {self._constant(kinds)} and "
            self._refuse(depth, f"{only}{name} not in {self._constant(frozenset(spot.values))}")

    def _echo(
        self, argument: str, level: str, name: str, types: frozenset[str] | None, depth: int
    ) -> None:
        wanted = self._new("a")
        steps = split(argument)
        if len(steps) == 1:
            self._line(depth, f"{wanted} = arguments.get({unescape(steps[0])!r})")
        else:
            self._line(depth, f"{wanted} = argument(arguments, {self._constant(steps)})")
        differs = f"{name} != {wanted}"
        if level == "exact" and types != frozenset(("string",)):
            differs = f"({differs} or {name}.__class__ is not {wanted}.__class__)"
        agrees = f"agreement({wanted}, {name}) & {LEVELS[level]}"
        both = f"scalar({wanted}) and scalar({name})"
        self._refuse(depth, f"{differs} and {both} and not {agrees}")

    # Objects.

    def _object(self, spot: Spot, name: str, path: str, depth: int) -> None:
        if spot.keys is not None:
            if spot.keys == spot.required:
                self._refuse(depth, f"len({name}) != {len(spot.keys)}")
            else:
                self._refuse(depth, f"not {self._constant(spot.keys)}.issuperset({name})")
        if self._may_alarm(path):
            self._alarms(spot, name, path, depth)
        many = self._many(spot, path)
        if many:
            self._table(many, name, depth, all(f.is_listed() for f in spot.fields.values()))
        for key, child in spot.fields.items():
            if key not in many:
                self._field(spot, key, child, name, path, depth)
        self._add_up(spot, path, depth)
        if spot.every is not None:
            key, item = self._new("k"), self._new("v")
            self._line(depth, f"for {key}, {item} in {name}.items():")
            self._line(depth + 1, f"if data_key({key}):")
            self._line(depth + 2, "pass")
            self._spot(spot.every, item, f"{path}/**", depth + 2)

    def _many(self, spot: Spot, path: str) -> dict[str, Spot]:
        """Return the optional fields that a table can say all of, if they are many."""
        found = {
            key: child
            for key, child in spot.fields.items()
            if key not in spot.required and child.is_listed()
            if f"{path}/{escape(key)}" not in self.named
        }
        return found if len(found) >= _TABLE else {}

    def _table(self, fields: dict[str, Spot], name: str, depth: int, whole: bool) -> None:
        """Write a look at the fields that there are, instead of at all that there may be.

        Where all known fields are texts, whatever is none is left to the rules.
        """
        kinds = {key: _KINDS[min(f.types)] for key, f in fields.items() if f.types and not f.values}
        domains = {key: frozenset(f.values) for key, f in fields.items() if f.values}
        key, item, known = self._new("k"), self._new("v"), self._new("t")
        if whole and {*kinds.values()} <= {str}:
            listed = self._constant(domains)
            self._line(depth, f"for {key} in {name}:")
            self._line(depth + 1, f"if {key} in {listed}:")
            self._refuse(depth + 2, f"{name}[{key}] not in {listed}[{key}]")
            self._line(depth + 1, f"elif {name}[{key}].__class__ is not str: return False")
            return
        self._line(depth, f"for {key}, {item} in {name}.items():")
        for table, differs in ((kinds, f"{item}.__class__ is not"), (domains, f"{item} not in")):
            if table:
                self._line(depth + 1, f"{known} = {self._constant(table)}.get({key})")
                self._refuse(depth + 1, f"{known} is not None and {differs} {known}")

    def _field(self, spot: Spot, key: str, child: Spot, name: str, path: str, depth: int) -> None:
        item, at = self._new("v"), f"{path}/{escape(key)}"
        if key in spot.required and at not in self.named and child.is_plain():
            self._type(child, f"{name}[{key!r}]", depth)
            return
        if key in spot.required:
            self._line(depth, f"{item} = {name}[{key!r}]")
            self.places[at] = item
        else:
            self._line(depth, f"{item} = {name}.get({key!r}, MISSING)")
            self._line(depth, f"if {item} is not MISSING:")
            depth += 1
            self._line(depth, "pass")
        self._spot(child, item, at, depth)

    def _list(self, each: Spot, name: str, path: str, depth: int) -> None:
        item = self._new("v")
        self._line(depth, f"for {item} in {name}:")
        self._line(depth + 1, "pass")
        self._spot(each, item, f"{path}/{EACH}", depth + 1)

    # Fields that tell of errors: at the top, and in the objects right below it.

    def _may_alarm(self, path: str) -> bool:
        return self.layout.lexical and path.count("/") <= 1 and EACH not in path

    def _alarms(self, spot: Spot, name: str, path: str, depth: int) -> None:
        known = spot.keys if spot.keys is not None else frozenset(spot.fields)
        for key in sorted(known & ALARMING):
            child = spot.fields.get(key, _NOTHING)
            if f"{path}/{escape(key)}" not in self.layout.nominal and _can_alarm(key, child):
                self._refuse(depth, _alarm_test(key, f"{name}.get({key!r})"))
        if spot.keys is None:
            self._refuse(depth, f"not {self._constant(ALARMING - known)}.isdisjoint({name})")
        if not path:
            self._alarms_below(spot, name, depth)

    def _alarms_below(self, spot: Spot, name: str, depth: int) -> None:
        """Write a look into the objects at the top that no place is known of."""
        alarming = self._constant(ALARMING)
        if spot.keys is not None:
            for key in sorted(spot.keys - spot.fields.keys()):
                item = self._new("v")
                self._line(depth, f"{item} = {name}.get({key!r})")
                self._refuse(
                    depth, f"{item}.__class__ is dict and not {alarming}.isdisjoint({item})"
                )
            return
        known, key, item = self._constant(frozenset(spot.fields)), self._new("k"), self._new("v")
        self._line(depth, f"for {key}, {item} in {name}.items():")
        unknown = f"{item}.__class__ is dict and {key} not in {known}"
        self._refuse(depth + 1, f"{unknown} and not {alarming}.isdisjoint({item})")

    # Relations: sums run along in the loops over their lists.

    def _plan_sums(self) -> None:
        for relation in self.layout.relations:
            for _, term in relation.terms:
                if EACH in split(term.path) and term not in self.sums and self._is_sure(term):
                    self.sums[term] = self._new("s")

    def _is_sure(self, term: Term) -> bool:
        """Say whether the loop over its list is sure to meet the numbers of a term."""
        steps = split(term.path)
        spot: Spot | None = self.layout.root
        for step in steps[:-1]:
            spot = None if spot is None else spot.each if step == EACH else spot.below(step)
        if spot is None:
            return False
        asked = [(unescape(steps[-1]), _NUMBERS if term.fold == "sum" else {"array"})]
        asked += [(term.times, _NUMBERS)] if term.times else []
        asked += [(term.where[0], {"string"})] if term.where else []
        return all(
            key in spot.required
            and (types := spot.fields[key].types) is not None
            and types <= kinds
            for key, kinds in asked
        )

    def _add_up(self, spot: Spot, path: str, depth: int) -> None:
        for term, total in self.sums.items():
            if term.path.rpartition("/")[0] != path:
                continue
            item = self.places[term.path]
            if term.fold == "lengths":
                item = f"len({item})"
            if term.times:
                item += f" * {self.places[f'{path}/{escape(term.times)}']}"
            if term.where:
                sibling = self.places[f"{path}/{escape(term.where[0])}"]
                self._line(depth, f"if {sibling} == {self._constant(term.where[1])}:")
                depth += 1
            self._line(depth, f"{total} += {item}")
            depth -= bool(term.where)

    def _relation(self, relation: Relation) -> None:
        depth = 2
        if relation.guard:
            guard = self.places.get(relation.guard)
            if guard is None:
                self._refuse(2, f"not {self._constant(relation.holds)}(result)")
                return
            self._line(2, f"if {guard} in {self._constant(frozenset(relation.values))}:")
            depth = 3
        total = self._constant(relation.constant) if relation.constant else ""
        for coefficient, term in relation.terms:
            sign = "-" if coefficient < 0 else "+"
            factor = "" if abs(coefficient) == 1 else f"{self._constant(abs(coefficient))} * "
            total += f" {sign} {factor}{self._number(term)}"
        # Beyond this bound the tolerance depends on the size of the terms: the rules say.
        self._refuse(depth, f"not -1e-5 <= {total.removeprefix(' + ')} <= 1e-5")

    def _number(self, term: Term) -> str:
        if term in self.sums:
            return self.sums[term]
        place = self.places.get(term.path)
        if place is not None and term.fold == "value":
            return place
        if place is not None and term.fold == "length":
            return f"len({place})"
        return f"{self._constant(reader(term))}(result)"


def _needed(lines: list[str]) -> Iterator[str]:
    """Yield lines without each ``pass`` that is not alone in its block."""
    for line, after in pairwise((*lines, "")):
        empty = len(after) - len(after.lstrip()) < len(line) - len(line.lstrip())
        if line.lstrip() != "pass" or empty:
            yield line


def _can_alarm(key: str, spot: Spot) -> bool:
    """Say whether a field of the types that a place may have can tell of an error."""
    types = _ANY if spot.types is None else spot.types
    return bool(types & ({"integer"} if key in CODE_KEYS else _ANY))


def _alarm_test(key: str, value: str) -> str:
    """Return a condition that holds at least where a known field tells of an error."""
    if key in ERROR_KEYS:
        return value
    if key in FLAG_KEYS:
        return f"{value} is False"
    if key in CODE_KEYS:
        return f"{value}.__class__ is int and {value} >= {HTTP_ERROR}"
    return f"{value} is True"


def _argument(arguments: Mapping[str, Json], steps: Iterable[str]) -> Json:
    """Return the argument at a path, or None."""
    found = [value for _, value in occurrences(dict(arguments), tuple(steps))]
    return found[0] if found else None
