"""Judging an episode: what was told, which gold calls were made, which rules were kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import canonical
from bench2robust.core.types import Task, ToolCall
from bench2robust.domains.recorded import GIVE_UP

__all__ = ["CallKey", "call_keys", "communicated", "matched", "rules_kept"]

CallKey: TypeAlias = tuple[str, str]

_TRANSFERS = frozenset(("transfer_to_human_agents", GIVE_UP.name))
"""The transfer tools of the domains: their one argument is free text."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w|\.\d)")


def communicated(outputs: Sequence[str], said: Sequence[str]) -> bool:
    """Say whether every required string was told to the user.

    τ²-bench looks for a substring of the lower-case text without commas, so that ``10`` is found
    in ``100``. Here a string must stand there as whole words, and a number as an equal number
    (``481.5`` and ``481.50`` are equal).
    """
    return not outputs or _told(tuple(outputs), "\n".join(said))


@lru_cache(maxsize=2048)
def _told(outputs: tuple[str, ...], said: str) -> bool:
    # Scripted agents say the same on a task whatever the seed, hence the cache.
    text = _plain(said)
    numbers = {_trimmed(number) for number in _NUMBER.findall(text)}
    return all(_stands_in(_plain(output), text, numbers) for output in outputs)


def _plain(text: str) -> str:
    return text.lower().replace(",", "").strip()


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _stands_in(output: str, text: str, numbers: set[str]) -> bool:
    if _NUMBER.fullmatch(output):
        return _trimmed(output) in numbers
    return re.search(rf"(?<!\w){re.escape(output)}(?!\w)", text) is not None


def call_keys(calls: Iterable[ToolCall]) -> Counter[CallKey]:
    """Count calls by what makes two of them equal."""
    return Counter(map(_call_key, calls))


def _call_key(call: ToolCall) -> CallKey:
    """Return the same for equal calls; a transfer's summary is free text."""
    return (call.name, "" if call.name in _TRANSFERS else canonical(call.arguments))


def matched(gold: Counter[CallKey], executed: Sequence[LogEntry]) -> int:
    """Return how many gold calls were executed, each executed call counting once."""
    names = {name for name, _ in gold}
    left, found = dict(gold), 0
    for key in (_call_key(entry.call) for entry in executed if entry.call.name in names):
        if left.get(key, 0):
            left[key] -= 1
            found += 1
    return found


def rules_kept(task: Task, executed: Sequence[LogEntry]) -> bool:
    """Say whether no forbidden call and every required call of a task was made."""
    calls = [entry.call for entry in executed]
    return not any(_made(rule, calls) for rule in task.forbidden) and all(
        _made(rule, calls) for rule in task.required
    )


def _made(rule: ToolCall, calls: Sequence[ToolCall]) -> bool:
    listed = {key: canonical(value) for key, value in rule.arguments.items()}
    return any(
        call.name == rule.name
        and all(
            key in call.arguments and canonical(call.arguments[key]) == value
            for key, value in listed.items()
        )
        for call in calls
    )
