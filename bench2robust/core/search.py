"""What can be found out from what a user tells, by reading: for S3's proofs, and for plans.

A search makes every read call that can be formed from known text, adds what comes back to what is
known, and goes on until nothing new can be called.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bench2robust.core.backend import CallLog, ToolBackend
from bench2robust.core.canonical import Json, canonical
from bench2robust.core.dataflow import NUMBER, Told
from bench2robust.core.domain import Domain, user_tools
from bench2robust.core.paths import leaves
from bench2robust.core.types import Task, ToolCall

__all__ = ["SearchLimitError", "read_on", "search"]

_CALLS = 5_000
"""Reads that one search may make."""


class SearchLimitError(Exception):
    """A search was cut short, so what it did not find may still exist."""


def search(domain: Domain, task: Task, blocked: frozenset[str]) -> bool:
    """Say whether a success is found with ``blocked`` tools silent, from told and observed values.

    Makes the gold calls whose values are all known, reads whatever can be read then, and so on
    until nothing changes; then says every known output. The search is bounded to read calls and
    the gold calls: other writes are not tried. What the user does with their own tools needs no
    value; it is done in its turn, or at the end.

    Raises:
        SearchLimitError: there was more to read than a search may.
    """
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    known = task.user.text()
    made: set[str] = set()
    pending = [call for call in task.actions if call.name not in blocked]
    by_user = {spec.name for spec in user_tools(domain)}
    while True:
        told = Told(known)
        ready = next((c for c in pending if _ready(c, told, by_user, c is pending[0])), None)
        if ready is not None:
            pending.remove(ready)
            known = f"{known}\n{log.call(ready).content}"
            continue
        said = [text for text in task.outputs if told.has(text)]
        if not pending and len(said) == len(task.outputs):
            break
        more = read_on(domain, log, known, blocked, made)
        if more == known:
            break
        known = more
    for call in pending:
        if call.name in by_user:
            log.call(call)
    return domain.evaluate(task, session, log.entries, said).success


def read_on(
    domain: Domain,
    backend: ToolBackend,
    known: str,
    blocked: frozenset[str],
    made: set[str],
    found: Callable[[ToolCall, str], bool] = lambda call, content: False,
) -> str:
    """Make every new read call that ``known`` suffices for; return all that is known then.

    Args:
        made: keys of calls not to make again; grows.
        found: told of each answer; True ends the round.

    Raises:
        SearchLimitError: more than ``_CALLS`` calls were made.
    """
    answers = []
    for call in domain.probes(known, blocked):
        key = f"{call.name} {canonical(call.arguments)}"
        if key in made:
            continue
        if len(made) >= _CALLS:
            raise SearchLimitError(f"more than {_CALLS} calls could be made")
        made.add(key)
        result = backend.call(call)
        if not result.is_error:
            answers.append(result.content)
            if found(call, result.content):
                break
    return "\n".join((known, *answers))


def _ready(call: ToolCall, told: Told, by_user: set[str], first: bool) -> bool:
    return first if call.name in by_user else _all_known(told, call)


def _all_known(told: Told, call: ToolCall) -> bool:
    return all(_known(told, leaf) for _, leaf in leaves(call.arguments))


_EXPRESSION = re.compile(r"[\d\s.()+*/-]+")


def _known(told: Told, leaf: Json) -> bool:
    """Whether a value was told or observed; an expression is known when its numbers are."""
    if leaf == "" or told.has(leaf):
        return True
    if isinstance(leaf, str) and _EXPRESSION.fullmatch(leaf):
        return all(told.has(n) for n in NUMBER.findall(leaf))
    return False
