"""Golden sets: results that are known to be right, which no contract may flag.

Whatever fires on one shows that the contract is miscalibrated, and how to mend it: by admitting
what the golden results hold, or, where that is not possible, by dropping the invariant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from bench2robust.core.canonical import Json, canonical
from bench2robust.evaluation.contracts.firing import (
    Firings,
    Found,
    Place,
    invariant_of,
    place_of,
    where,
)
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.pointers import split, unescape
from bench2robust.monitors.violation import Violation

__all__ = ["Change", "Flag", "Golden", "junit", "patched", "run_golden"]

_MOST_VALUES = 32
"""Values that a relaxed invariant may list; with more it says nothing any longer."""


class Flag(NamedTuple):
    """An invariant that golden results break.

    Attributes:
        samples: how many do.
        example: the first violation.
        group: the group of the sample that it is from.
    """

    place: Place
    samples: int
    example: Violation
    group: str


class Change(NamedTuple):
    """What to do with an invariant: admit more (``params``), or drop it."""

    tool: str
    code: str
    path: str
    action: Literal["relax", "drop"]
    before: Json
    params: Json


class Golden(NamedTuple):
    """The outcome: ``ok`` if nothing fired."""

    firings: Firings
    flags: tuple[Flag, ...]
    changes: tuple[Change, ...]

    @property
    def ok(self) -> bool:
        """Whether no golden result was flagged."""
        return not self.flags


def run_golden(contract: Contract, found: Iterable[Found]) -> Golden:
    """Return what golden results say about a contract."""
    firings, flags = Firings(), dict[Place, Flag]()
    broken: dict[Place, tuple[Invariant, Json]] = {}
    for item in found:
        firings.add(contract, item)
        sample, _ = item.observed
        for violation in item.violations:
            place = place_of(contract, sample.tool, violation)
            flags.setdefault(place, Flag(place, 0, violation, sample.group))
            invariant = invariant_of(contract, sample.tool, violation)
            if invariant is not None:
                params = broken.get(place, (invariant, dict(invariant.params)))[1]
                broken[place] = (invariant, _relaxed(invariant, params, violation))
    counted = (f._replace(samples=firings.places[f.place]) for f in flags.values())
    changes = (_change(place[0], *known) for place, known in broken.items())
    return Golden(firings, tuple(sorted(counted, key=lambda f: -f.samples)), tuple(changes))


def _relaxed(invariant: Invariant, params: Json, violation: Violation) -> Json:
    """Return parameters that admit what broke an invariant too; None if none do."""
    if params is None:
        return None
    if invariant.code == "unexpected_field":
        key = unescape(split(violation.path)[-1])
        return {**params, "keys": _with(params["keys"], key)}
    if invariant.code == "learned_type_mismatch" and violation.observed != "non-finite number":
        return {**params, "types": _with(params["types"], violation.observed)}
    if invariant.code == "unseen_category":
        values = _with(params["values"], violation.observed)
        return {**params, "values": values} if len(values) <= _MOST_VALUES else None
    if invariant.code == "explicit_error":
        return {**params, "nominal": _with(params.get("nominal", []), violation.path)}
    return None


def _with(values: Sequence[Json], value: Json) -> list[Json]:
    known = {canonical(v) for v in values}
    return list(values) if canonical(value) in known else [*values, value]


def _change(tool: str, invariant: Invariant, params: Json) -> Change:
    action: Literal["relax", "drop"] = "drop" if params is None else "relax"
    return Change(tool, invariant.code, invariant.path, action, dict(invariant.params), params)


def patched(contract: Contract, changes: Iterable[Change]) -> Contract:
    """Return a contract with changes made; what was relaxed counts as written by hand."""
    by_place = {(c.tool, c.code, c.path, canonical(c.before)): c for c in changes}
    tools = {}
    for tool, invariants in contract.tools.items():
        kept = []
        for invariant in invariants:
            change = by_place.get((tool, *invariant.key()))
            if change is None:
                kept.append(invariant)
            elif change.action == "relax":
                kept.append(replace(invariant, params=change.params, source="manual"))
        tools[tool] = tuple(kept)
    return Contract(tools, dict(contract.records), contract.profile)


def junit(contract: Contract, golden: Golden) -> bytes:
    """Return the outcome as JUnit XML: a test for each invariant of the tools that were called."""
    flags = {flag.place: flag for flag in golden.flags}
    tools = sorted(golden.firings.checked)
    suite = ElementTree.Element("testsuite", name="golden")
    places = [(t, i.code, where(i)) for t in tools for i in contract.tools.get(t, ())]
    for place in dict.fromkeys([*places, *flags]):
        tool, code, path = map(_printable, place)
        case = ElementTree.SubElement(suite, "testcase", classname=tool, name=f"{code} {path}")
        if flag := flags.get(place):
            text = _printable(f"{flag.samples} golden results break it: {flag.example.detail}")
            ElementTree.SubElement(case, "failure", message=text).text = _printable(flag.group)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(flags)))
    body: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _printable(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
