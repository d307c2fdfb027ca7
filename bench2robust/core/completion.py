"""Completing gold calls with the reads that they leave out.

Benchmarks often list only the writes as gold, with ids that an agent can only have read somewhere.
A plan that kept such ids as literals would let every scripted agent guess them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.dataflow import Told
from bench2robust.core.domain import Domain, user_tools
from bench2robust.core.paths import leaves
from bench2robust.core.search import SearchLimitError, read_on
from bench2robust.core.types import Task, ToolCall

__all__ = ["complete", "replay"]


def replay(domain: Domain, task: Task, calls: Sequence[ToolCall]) -> list[Json]:
    """Return the parsed result of each call, made in order on a fresh clean session."""
    session = domain.session(task)
    return [parse_result(session.call(call).content) for call in calls]


def complete(domain: Domain, task: Task) -> tuple[ToolCall, ...]:
    """Return the gold calls, each after the stock reads that reveal what it needs.

    A value that no read reveals stays as it is: a constant, or a guess of the benchmark's authors.
    """
    told, seen = Told(task.user.text()), Told("")
    by_user = {spec.name for spec in user_tools(domain)}
    calls: list[ToolCall] = []
    for call, result in zip(task.actions, replay(domain, task, task.actions), strict=True):
        ids = () if call.name in by_user else _ids(call)
        lacking = [v for v in ids if not told.has(v) and not seen.has(v)]
        for read in _reads_for(domain, task, lacking, told) if lacking else ():
            if read not in calls:
                calls.append(read)
        calls.append(call)
        text = "\n".join(str(leaf) for _, leaf in leaves(result))
        seen = seen.and_also(text)
        if lacking:
            seen = seen.and_also("\n".join(lacking))
    return tuple(calls)


def _ids(call: ToolCall) -> list[str]:
    """Return the argument texts that are no plain words: they hold a digit and no space."""
    texts = [leaf for _, leaf in leaves(call.arguments) if isinstance(leaf, str)]
    return [t for t in texts if " " not in t and any(c.isdigit() for c in t)]


def _reads_for(domain: Domain, task: Task, lacking: Sequence[str], told: Told) -> list[ToolCall]:
    """Return reads that reveal ``lacking``, each after those that its own arguments come from."""
    answers: list[tuple[ToolCall, Told]] = []
    missing = set(lacking)

    def found(call: ToolCall, content: str) -> bool:
        answers.append((call, Told(content)))
        missing.difference_update([v for v in missing if answers[-1][1].has(v)])
        return not missing

    hidden = frozenset(s.name for s in domain.tools(True)) - {s.name for s in domain.tools()}
    session, known, made = domain.session(task), task.user.text(), set[str]()
    with suppress(SearchLimitError):  # what was found by then is used; the rest stays as it is
        while missing:
            more = read_on(domain, session, known, hidden, made, found)
            if more == known:
                break
            known = more
    chain: list[ToolCall] = []

    def add(value: str, before: int) -> None:
        """Add the first read that reveals a value; an answer repeats its own arguments."""
        place = next((i for i in range(before) if answers[i][1].has(value)), None)
        if place is None or answers[place][0] in chain:
            return
        for need in _ids(answers[place][0]):
            if not told.has(need):
                add(need, place)
        chain.append(answers[place][0])

    for value in lacking:
        add(value, len(answers))
    return chain
