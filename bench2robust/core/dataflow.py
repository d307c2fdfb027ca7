"""Dataflow plans: a task's gold calls with the values an agent must have observed made explicit.

The gold calls are replayed once, clean. Every argument leaf that the user did not tell and that
occurs in an earlier result becomes a :class:`Reference` (step, path) instead of a literal; numbers
inside a text argument (``calculate``) become a :class:`Template`. An agent that executes the plan
reads its arguments from what *it* observed, so faults and corruption have consequences with no
language model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.core.paths import MISSING, Path, get, leaves, matches
from bench2robust.core.types import Task, ToolCall, ToolSpec

__all__ = [
    "Guard",
    "MissingValueError",
    "Plan",
    "Reference",
    "Step",
    "Template",
    "Told",
    "Written",
    "build_plan",
    "resolve",
]


class Reference(NamedTuple):
    """The value at ``path`` of the result of plan step ``step``."""

    step: int
    path: Path


class Written(NamedTuple):
    """A referenced number that a text writes with so many ``decimals``, where it has no more."""

    reference: Reference
    decimals: int


class Template(NamedTuple):
    """A text made of literal parts and references to observed values."""

    parts: tuple[str | Reference | Written, ...]


PlanValue: TypeAlias = "Json | Reference | Template | list[PlanValue] | dict[str, PlanValue]"


class Guard(NamedTuple):
    """A state that must have been observed for a write to be allowed by the policy."""

    source: Reference
    expected: Json


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a plan: a gold call, or a read that the gold calls leave out.

    Attributes:
        call: the call itself (used only to build the plan; never by an agent).
        arguments: its arguments with references in place of observed values.
        guards: what must have been observed before this call is made.
        needed: paths of this step's result that later steps, guards or outputs read.
        writes: the tool changes the state.
        critical: True if the outcome depends on this call: it writes, a later critical step or an
            output reads its result, or the task asks to be informed.
        told: literal texts (lower case) that only the user can tell.
        turn: which message of the user asks for this call (0 is the opening).
    """

    call: ToolCall
    arguments: Mapping[str, PlanValue]
    guards: tuple[Guard, ...] = ()
    needed: tuple[Path, ...] = ()
    writes: bool = False
    critical: bool = False
    told: tuple[str, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A task's gold calls and required outputs, as a dataflow.

    Attributes:
        literals: how many argument leaves stayed literal, and how many leaves there are.
    """

    steps: tuple[Step, ...]
    outputs: tuple[PlanValue, ...]
    literals: tuple[int, int]


class MissingValueError(LookupError):
    """A plan value refers to something that was not observed."""


def resolve(value: PlanValue, results: Sequence[Json]) -> Json:
    """Return ``value`` with every reference replaced by what was observed.

    Args:
        results: the accepted result of each step so far; ``MISSING`` where there is none.

    Raises:
        MissingValueError: a reference leads nowhere, or to an empty value.
    """
    if isinstance(value, str):  # as most are
        return value
    if isinstance(value, Reference):
        found = get(results[value.step], value.path) if value.step < len(results) else MISSING
        if found is MISSING or found in ("", [], {}):
            raise MissingValueError(value)
        return found
    if isinstance(value, Template):
        return "".join(_written(part, results) for part in value.parts)
    if isinstance(value, list):
        return [resolve(item, results) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, results) for key, item in value.items()}
    return value


def _written(part: str | Reference | Written, results: Sequence[Json]) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Reference):
        return str(resolve(part, results))
    found = resolve(part.reference, results)
    number = isinstance(found, (int, float)) and round(found, part.decimals) == found
    return f"{found:.{part.decimals}f}" if number else str(found)


def build_plan(
    task: Task, calls: Sequence[ToolCall], results: Sequence[Json], specs: Mapping[str, ToolSpec]
) -> Plan:
    """Build the plan of a task from the clean results of its calls.

    Args:
        calls: the gold calls, with the reads that they leave out.
        results: parsed result of each call, in order.
        specs: tool specifications by name; their ``fields.states`` give the guards.
    """
    builder = _Builder(task.user.text())
    steps = []
    turns = _turns(task, calls)
    for index, call in enumerate(calls):
        arguments = {k: builder.value(k, v) for k, v in call.arguments.items()}
        spec = specs.get(call.name)
        writes = spec is not None and spec.kind == "write"
        guards = _guards(calls, results, index, specs) if writes else ()
        told = tuple(builder.told_leaves(call.arguments))
        informs = task.informed and not writes
        facts = _facts(results[index]) if informs else ()
        critical = writes or informs
        steps.append(Step(call, arguments, guards, facts, writes, critical, told, turns[index]))
        builder.add(index, results[index], writes)
    outputs = tuple(builder.output(text) for text in task.outputs)
    return Plan(_annotate(steps, outputs), outputs, (builder.literal, builder.total))


def _facts(result: Json) -> tuple[Path, ...]:
    """Return the paths of a result that tell something."""
    return tuple(path for path, leaf in leaves(result) if leaf is not None and leaf != "")


def _turns(task: Task, calls: Sequence[ToolCall]) -> list[int]:
    """Return the turn of each call; a read that the gold calls leave out belongs to the next."""
    turns, gold = list[int](), 0
    for call in calls:
        place = min(gold, len(task.turns) - 1)
        turns.append(task.turns[place] if task.turns else 0)
        gold += gold < len(task.actions) and call is task.actions[gold]
    return turns


NUMBER = re.compile(r"\d+(?:\.\d+)?")
_AMOUNT = re.compile(rf"(?<![\w.])(?!0\d){NUMBER.pattern}")
"""A number that is no part of an id, such as that of USR006."""
_EXPRESSION = re.compile(r"[\d\s.()+*/-]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class _Builder:
    """Finds where values were observed first-hand."""

    def __init__(self, told: str) -> None:
        self._told = Told(told)
        self._echoes: set[str] = set()
        self._seen: dict[str, list[Reference]] = {}
        self._writes: set[int] = set()
        self.literal = 0
        self.total = 0

    def add(self, step: int, result: Json, writes: bool) -> None:
        if writes:
            self._writes.add(step)
        for path, leaf in leaves(result):
            if isinstance(leaf, (str, int, float)) and not isinstance(leaf, bool) and leaf != "":
                self._seen.setdefault(_key(leaf), []).append(Reference(step, path))

    def value(self, name: str, value: Json) -> PlanValue:
        if isinstance(value, dict):
            return {k: self.value(k, v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(name, v) for v in value]
        self.total += 1
        found = self._find(name, value)
        if found is None:
            self.literal += 1
            self._echoes.add(_key(value))
            return value
        return found

    def _find(self, name: str, value: Json) -> Reference | Template | None:
        if isinstance(value, bool) or value is None or self._told.has(value):
            return None
        seen = self._seen.get(_key(value))
        if seen:
            best = self._best(name, seen)
            if _is_common(value) and best.path[-1:] != (name,):
                return None
            # What a write returns of the agent's own earlier words is no news.
            return None if best.step in self._writes and _key(value) in self._echoes else best
        return self._template(value) if isinstance(value, str) else None

    def _template(self, text: str) -> Template | None:
        if _DATE.fullmatch(text):
            return None
        parts: list[str | Reference | Written] = []
        end = 0
        for match in _AMOUNT.finditer(text):
            seen = self._seen.get(_key(float(match.group())))
            if seen:
                best = self._best("price", seen)
                parts += [text[end : match.start()], _as_written(best, match[0], text)]
                end = match.end()
        return Template(tuple(p for p in (*parts, text[end:]) if p)) if parts else None

    def told_leaves(self, arguments: Json) -> list[str]:
        texts = [leaf for _, leaf in leaves(arguments) if isinstance(leaf, str) and len(leaf) > 1]
        return [text.lower() for text in texts if self._told.has(text)]

    def output(self, text: str) -> PlanValue:
        seen = self._seen.get(_key(text))
        if not seen and NUMBER.fullmatch(text):
            seen = self._seen.get(_key(float(text)))
        return self._best("", seen) if seen else text

    def _best(self, name: str, seen: Sequence[Reference]) -> Reference:
        """Prefer a read, then the field of the parameter's own name, then the newest result.

        The response of a write can be lost for good; what a read returned can be had again.
        """
        stem = name.removeprefix("new_").removesuffix("s")

        def rank(reference: Reference) -> tuple[bool, bool, int]:
            named = [s for s in reference.path if isinstance(s, str)]
            own = bool(named) and named[-1] == stem
            return (reference.step not in self._writes, own, reference.step)

        return max(seen, key=rank)


def _as_written(found: Reference, number: str, text: str) -> Reference | Written:
    """Return how an observed number stands in a text; a calculator does not mind its decimals."""
    expression = number != text and _EXPRESSION.fullmatch(text)
    if expression or number == repr(float(number)):
        return found
    return Written(found, len(number.partition(".")[2]))


def _is_common(value: Json) -> bool:
    """Whether a value stands in many results by chance: a count, say, of bags or of free seats."""
    return isinstance(value, (int, float)) and value == int(value) and abs(value) < 100


class Told:
    """A text that is asked many times whether something stands in it."""

    def __init__(self, text: str) -> None:
        self._lower = text.lower()

    def and_also(self, text: str) -> Told:
        """Return this text with another line."""
        return Told(f"{self._lower}\n{text}")

    def has(self, value: Json) -> bool:
        """Say whether ``value`` stands in the text as a whole token, whatever its case."""
        lower, text = self._lower, str(value).lower()
        start = lower.find(text) if text else -1
        while start >= 0:  # not one pattern: these texts are long and the values many
            end = start + len(text)
            if not _BEFORE.match(lower, start - 1, start) and not _AFTER.match(lower, end):
                return True
            start = lower.find(text, start + 1)
        return False


_BEFORE = re.compile(r"[\w.]")
_AFTER = re.compile(r"\w|\.\d")


def _key(leaf: Json) -> str:
    """Return one key per value; numbers and texts are apart."""
    return f"number {float(leaf)!r}" if isinstance(leaf, (int, float)) else f"text {leaf}"


def _guards(
    calls: Sequence[ToolCall],
    results: Sequence[Json],
    index: int,
    specs: Mapping[str, ToolSpec],
) -> tuple[Guard, ...]:
    """Return the states that were read, before a write, of the entity that it writes."""
    entity = {v for v in calls[index].arguments.values() if isinstance(v, str)}
    for step in range(index - 1, -1, -1):
        spec = specs.get(calls[step].name)
        if spec is None or spec.kind != "read" or not spec.fields.states:
            continue
        if entity.isdisjoint(v for v in calls[step].arguments.values() if isinstance(v, str)):
            continue
        patterns = [pattern for pattern, _ in spec.fields.states]
        return tuple(
            Guard(Reference(step, path), leaf)
            for path, leaf in leaves(results[step])
            if any(len(p) == len(path) and matches(p, path) for p in patterns)
        )
    return ()


def references(value: object) -> list[Reference]:
    """Return every reference inside a plan value."""
    if isinstance(value, Reference):
        return [value]
    if isinstance(value, Template):
        found = (p.reference if isinstance(p, Written) else p for p in value.parts)
        return [p for p in found if isinstance(p, Reference)]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return [r for item in value for r in references(item)]
    return []


def _annotate(steps: Sequence[Step], outputs: Sequence[PlanValue]) -> tuple[Step, ...]:
    """Fill in which paths are needed and which steps are critical, from the end backwards."""
    needed: list[dict[Path, None]] = [dict.fromkeys(step.needed) for step in steps]
    critical = [step.critical for step in steps]

    def use(found: Sequence[Reference], matters: bool) -> None:
        for reference in found:
            needed[reference.step][reference.path] = None
            critical[reference.step] = critical[reference.step] or matters

    for output in outputs:
        use(references(output), True)
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        use([g.source for g in step.guards], critical[index])
        use(references(step.arguments), critical[index])
    return tuple(
        replace(s, needed=tuple(needed[i]), critical=critical[i]) for i, s in enumerate(steps)
    )
