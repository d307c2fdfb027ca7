"""Clauses on what blocking and corruption rest on: probes, classes, paths, critical fields."""

from __future__ import annotations

import calendar
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import Any

from bench2robust.core.canonical import Json, parse_result, same_json
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import Pattern
from bench2robust.core.types import ToolCall, ToolSpec
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Run, Sample, make, take

__all__ = ["classes", "fields", "paths", "probes"]

_ENDLESS = 20_000
_DATE = re.compile(r"\d{4}-(\d\d)-(\d\d)")
_NO_LETTERS = re.compile(r"[\W_]+")
"""An adapter may complete a value in form, such as ``W123`` to ``#W123``."""


def probes(sample: Sample, check: Check) -> None:
    """Probes are reads of tools that are not blocked, made of known values only."""
    reads = {name for name, spec in sample.specs.items() if spec.kind == "read"}
    public = _public(sample)
    for run in sample.runs:
        told = run.task.user.text()
        seen = "\n".join((told, *(s.result.content for s in run.steps)))
        for known in (told, seen):
            made = list(islice(sample.domain.probes(known, frozenset()), _ENDLESS))
            check(len(made) < _ENDLESS, f"{_ENDLESS} probes and more of one text")
            letters = _letters(f"{known}\n{public}")
            for call in made[:2000]:
                _one_probe(call, letters, reads, sample, check)
            for blocked in {frozenset((call.name,)) for call in made}:
                left = {c.name for c in islice(sample.domain.probes(known, blocked), 2000)}
                check(not left & blocked, f"a probe calls {min(blocked)} though it is blocked")


def _public(sample: Sample) -> str:
    """Return what anybody can know: the policy, and what reads without arguments tell."""
    texts = [sample.domain.policy]
    for task in sample.tasks[:1]:
        session = sample.domain.session(task, True)
        for spec in session.tools:
            if spec.kind == "read" and not spec.parameters.get("properties"):
                texts.append(make(session, ToolCall(spec.name, {})).content)
    return "\n".join(texts)


def _one_probe(call: ToolCall, known: str, reads: set[str], sample: Sample, check: Check) -> None:
    """Check one probe of a text; ``known`` is the text's letters."""
    if not check(call.name in reads, f"a probe calls {call.name}, which is no read tool"):
        return
    for name, value in call.arguments.items():
        schema = sample.specs[call.name].parameters["properties"].get(name, {})
        constants = [schema.get("default"), *schema.get("enum", ())]
        for text in _texts(value):
            check(_letters(text) in known or text in constants or _is_told_date(text, known),
                  f"a probe of {call.name} uses {text!r:.80}, which is not known")  # fmt: skip


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.lower())


def _is_told_date(text: str, known: str) -> bool:
    """Say whether a date such as 2024-05-23 was told as May 23, 23 May or 5/23."""
    found = _DATE.fullmatch(text)
    if not found:
        return False
    month, day = int(found[1]), int(found[2])
    names = (calendar.month_abbr[month].lower(), str(month)) if 1 <= month <= 12 else ()
    return str(day) in known and any(name in known for name in names)


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []


def classes(sample: Sample, check: Check) -> None:
    """A class names tools that exist, the usual one first, and paths between its members."""
    domain = sample.domain
    stock = {spec.name for spec in domain.tools()}
    names = [cls.name for cls in domain.classes]
    check(len(set(names)) == len(names), "two fallback classes have one name")
    for cls in domain.classes:
        members = set(cls.members)
        check(len(members) >= 2, f"class {cls.name} has fewer than two members")
        check(members <= set(sample.specs), f"class {cls.name} names a tool that does not exist")
        check(cls.members[0] in stock, f"class {cls.name}: its primary is no stock tool")
        check(cls.paths, f"class {cls.name} has no path")
        for path in cls.paths:
            check({path.source, path.target} <= members and path.source != path.target,
                  f"class {cls.name}: {path.source} -> {path.target} leaves the class")  # fmt: skip
            check(path.granularity in ("all", "some", "none") and path.note,
                  f"{path.source} -> {path.target}: no granularity, or no note")  # fmt: skip


def paths(sample: Sample, check: Check) -> None:
    """A fallback path gives what its granularity says: all fields, some, or none."""
    by_source: dict[str, list[FallbackPath]] = defaultdict(list)
    for cls in sample.domain.classes:
        for path in cls.paths:
            by_source[path.source].append(path)
    for run in sample.runs:
        known = Knowledge([run.task.user.text()])
        for index, step in enumerate(run.steps):
            for path in by_source.get(step.call.name, ()) if not step.result.is_error else ():
                _one_path(sample, run, index, path, known, check)
            known.results.append((step.call, parse_result(step.result.content)))


def _one_path(
    sample: Sample, run: Run, index: int, path: FallbackPath, known: Knowledge, check: Check
) -> None:
    step, at = run.steps[index], f"{path.source} -> {path.target}"
    calls = path.calls(step.call.arguments, known)
    if calls is None:
        return
    if not check(calls and path.target in (calls[0].name, calls[-1].name),
                 f"{at}: the target is neither the first nor the last call"):  # fmt: skip
        return
    check(path.source not in {c.name for c in calls}, f"{at} calls the tool that it replaces")
    session = sample.domain.session(run.task, True)
    for earlier in run.steps[:index]:
        make(session, earlier.call)
    made = [take(session, call) for call in calls]
    if any(m.result.is_error for m in made):
        return  # the agent sees it, and goes on to the next path
    read = path.read(step.call.arguments, [parse_result(m.result.content) for m in made])
    if sample.specs[path.source].kind == "write":
        check(read is None or dict(session.delta()) == step.deltas[1] or path.granularity != "all",
              f"{at} gives all, but leaves another state")  # fmt: skip
        return
    check(made[-1].deltas[1] == step.deltas[0], f"{at} changes the state, its source only reads")
    truth = parse_result(step.result.content)
    if path.granularity == "all":
        check(same_json(read, truth), lambda: (
            f"{at} gives all, but read {read!a:.80} and not {truth!a:.80}"))  # fmt: skip
    elif path.granularity == "some":
        check(read is None or _within(read, truth), lambda: (
            f"{at} gives some, but {read!a:.80} is no part of {truth!a:.80}"))  # fmt: skip
    else:
        check(read is None, f"{at} gives none, but something is read")


def _within(part: Json, whole: Json) -> bool:
    """Say whether every field of ``part`` is in ``whole`` with the same value.

    Of a list, the first members may stand for all: a summary has the payment, not the refund.
    """
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(_within, part, whole))
    return same_json(part, whole)


def fields(sample: Sample, check: Check) -> None:
    """The decision-critical fields exist in real results, and hold what their kind says."""
    results = _by_tool(sample.answers)
    for name, spec in sample.specs.items():
        _complete(sample, spec, results[name])
        if results[name]:
            _fields_of(spec, results[name], check)


def _complete(sample: Sample, spec: ToolSpec, results: list[Json]) -> None:
    """Add answers of other tasks until every field was seen: some fields are rare."""
    wanted = (*spec.fields.contents, *spec.fields.amounts, *(p for p, _ in spec.fields.states))
    lacking = [pattern for pattern in wanted if not _found(pattern, results)]
    for value in sample.more_answers(spec.name) if lacking else ():
        results.append(value)
        lacking = [pattern for pattern in lacking if not _found(pattern, [value])]
        if not lacking:
            return


def _by_tool(answers: Iterable[tuple[ToolCall, Json]]) -> defaultdict[str, list[Json]]:
    results: defaultdict[str, list[Json]] = defaultdict(list)
    for call, value in answers:
        results[call.name].append(value)
    return results


def _fields_of(spec: ToolSpec, results: list[Json], check: Check) -> None:
    name, wanted = spec.name, spec.fields
    for pattern in wanted.contents:
        check(_exists(pattern, results), f"{name}: no result has {_shown(pattern)}")
    for pattern in wanted.amounts:
        found = _found(pattern, results)
        check(_exists(pattern, results), f"{name}: no result has {_shown(pattern)}")
        check(all(v is None or _is_number(v) for v in found),
              f"{name}: {_shown(pattern)} is an amount, but holds no number")  # fmt: skip
    for pattern, order in wanted.states:
        found = _found(pattern, results)
        check(_exists(pattern, results), f"{name}: no result has {_shown(pattern)}")
        if (
            spec.kind == "read" and found
        ):  # what a write returns may be a state that no life leads to
            check(any(v in order for v in found),
                  f"{name}: {_shown(pattern)} is never one of {', '.join(order)}")  # fmt: skip


def _exists(pattern: Pattern, results: list[Json]) -> bool:
    """Say whether a pattern leads to something, as far as results can tell.

    Members of a list need not have one shape (a gift card has a balance, a credit card has none),
    so of a pattern through ``*`` only what comes before it must be there.
    """
    before = pattern[: pattern.index("*")] if "*" in pattern else pattern
    return bool(_found(pattern, results) or _found(before, results))


def _found(pattern: Pattern, results: list[Json]) -> list[Any]:
    found: list[Any] = list(results)
    for step in pattern:
        found = [inner for value in found for inner in _children(value, step)]
    return found


def _children(value: Json, step: str) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if step == "*" else [value[step]] if step in value else []
    return value if isinstance(value, list) and step == "*" else []


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(pattern: Pattern) -> str:
    return ".".join(pattern) or "$"
