"""Looking for a success that should not exist: the bounded search behind S3 (section 2.1)."""

from __future__ import annotations

import re

from bench2robust.core.backend import CallLog
from bench2robust.core.canonical import Json
from bench2robust.core.dataflow import NUMBER, Told
from bench2robust.core.domain import Domain
from bench2robust.core.paths import leaves
from bench2robust.core.types import Task

__all__ = ["search"]

_ROUNDS = 4


def search(domain: Domain, task: Task, blocked: frozenset[str]) -> bool:
    """Say whether a success is found with ``blocked`` tools silent, from told and observed values.

    Bounded: every read call that can be formed from what the user tells and from what earlier
    rounds observed is made, for a few rounds; then every gold call whose values are all known is
    made, and every known output is said.
    """
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    known = _explore(domain, log, task.user.text(), blocked)
    told = Told(known)
    for call in task.actions:
        if call.name not in blocked and all(_known(told, v) for _, v in leaves(call.arguments)):
            known = f"{known}\n{log.call(call).content}"
            told = Told(known)
    said = [text for text in task.outputs if told.has(text)]
    return domain.evaluate(task, session, log.entries, said).success


def _explore(domain: Domain, log: CallLog, known: str, blocked: frozenset[str]) -> str:
    """Make every read call that can be formed, and return all that is known then."""
    made: set[str] = set()
    for _ in range(_ROUNDS):
        calls = {repr(call): call for call in domain.probes(known, blocked)}
        results = [log.call(call) for key, call in calls.items() if key not in made]
        found = [result.content for result in results if not result.is_error]
        if not found:
            break
        made.update(calls)
        known = "\n".join((known, *found))
    return known


_EXPRESSION = re.compile(r"[\d\s.()+*/-]+")


def _known(told: Told, leaf: Json) -> bool:
    """Whether a value was told or observed; an expression is known when its numbers are."""
    if told.has(leaf):
        return True
    if isinstance(leaf, str) and _EXPRESSION.fullmatch(leaf):
        return all(told.has(n) for n in NUMBER.findall(leaf))
    return False
