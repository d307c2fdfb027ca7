"""Judging an episode: which gold calls were made, and what of the gold reads was told.

BFCL compares the *texts* that calls returned, on calls that it makes again. Neither works where
calls fail: what an agent was refused would be made after all, and the same facts by another path
are other texts. So the live state is compared, and each gold read counts as informed

* if one answer of the same tool, as the agent saw it, holds every value that the gold read tells;
* or if the calls of a documented fallback path were answered, and its reading of those answers
  holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, canonical, parse_result
from bench2robust.core.dataflow import Told
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import MISSING, leaves
from bench2robust.core.types import ToolCall

__all__ = ["CallKey", "Read", "call_key", "informed", "matched"]

CallKey = tuple[str, str]


class Read(NamedTuple):
    """A gold read, its true result, and the values that it tells."""

    call: ToolCall
    true: Json
    facts: frozenset[str]
    paths: tuple[FallbackPath, ...]

    @classmethod
    def of(cls, call: ToolCall, content: str, paths: Iterable[FallbackPath]) -> Read:
        """Return the read that a gold call and its true result are."""
        true = parse_result(content)
        return cls(call, true, _facts(true), tuple(paths))


def call_key(call: ToolCall) -> CallKey:
    """Return the same for equal calls."""
    return call.name, canonical(call.arguments)


def matched(gold: Counter[CallKey], executed: Sequence[LogEntry]) -> int:
    """Return how many gold calls were executed, each executed call counting once."""
    made = Counter(call_key(entry.call) for entry in executed)
    return (gold & made).total()


def informed(reads: Sequence[Read], observed: Sequence[LogEntry]) -> bool:
    """Say whether the agent was told what each gold read tells."""
    if not reads:
        return True
    by_tool: dict[str, list[LogEntry]] = {}
    for entry in observed:
        if not entry.result.is_error:
            by_tool.setdefault(entry.call.name, []).append(entry)
    return all(
        any(_tells(entry.result.content, read.facts) for entry in by_tool.get(read.call.name, ()))
        or any(_delivers(path, read, by_tool) for path in read.paths if path.target in by_tool)
        for read in reads
    )


def _facts(value: Json) -> frozenset[str]:
    return frozenset(_fact(leaf) for _, leaf in leaves(value) if leaf is not None and leaf != "")


def _fact(leaf: Json) -> str:
    if isinstance(leaf, bool) or not isinstance(leaf, (int, float)):
        return str(leaf)
    return f"number {float(leaf)!r}"


def _tells(content: str, facts: frozenset[str]) -> bool:
    found = parse_result(content)
    if isinstance(found, (dict, list)):
        return facts <= _facts(found)
    told = Told(content)  # plain text, perhaps with a remark of a monitor at its end
    return all(told.has(fact.removeprefix("number ").removesuffix(".0")) for fact in facts)


def _delivers(path: FallbackPath, read: Read, by_tool: dict[str, list[LogEntry]]) -> bool:
    calls = path.calls(read.call.arguments, Knowledge())
    answers = [_answer(call, by_tool) for call in calls or ()]
    if not answers or MISSING in answers:
        return False
    value = path.read(read.call.arguments, answers)
    return value is not None and canonical(value) == canonical(read.true)


def _answer(call: ToolCall, by_tool: dict[str, list[LogEntry]]) -> Json:
    """Return the newest answer to a call, or ``MISSING``."""
    key = call_key(call)
    made = (e for e in reversed(by_tool.get(call.name, [])) if call_key(e.call) == key)
    entry = next(made, None)
    return MISSING if entry is None else parse_result(entry.result.content)
