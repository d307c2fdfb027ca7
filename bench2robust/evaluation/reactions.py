"""How an agent reacted to each fault, and what its repeated writes did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Domain
from bench2robust.core.types import ToolCall

__all__ = ["Reaction", "Relations", "Repeats", "reaction", "repeats", "viable_unused"]

Reaction: TypeAlias = Literal["retry", "switch", "verify", "other", "none"]


class Relations(NamedTuple):
    """What the tools of a domain are to one another.

    Attributes:
        kinds: tool name to ``read``, ``write`` or ``generic``.
        mates: tool name to the other members of the fallback classes that hold it.
        classes: class name to its members.
    """

    kinds: Mapping[str, str]
    mates: Mapping[str, frozenset[str]]
    classes: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, domain: Domain) -> Relations:
        """Read the relations off a domain, alternative tools included."""
        classes = {c.name: frozenset(c.members) for c in domain.classes}
        kinds = {spec.name: spec.kind for spec in domain.tools(alternatives=True)}
        mates = {
            tool: frozenset().union(*(m for m in classes.values() if tool in m)) - {tool}
            for tool in kinds
        }
        return cls(kinds, mates, classes)


def reaction(calls: Sequence[ToolCall], step: int, relations: Relations) -> Reaction:
    """Classify the tool call that came next after the faulted call at ``step``.

    The same tool and arguments: ``retry``; another member of a fallback class of the tool:
    ``switch``; a read that shares an argument value: ``verify``; anything else: ``other``; no
    further call: ``none``.
    """
    if step + 1 >= len(calls):
        return "none"
    failed, after = calls[step], calls[step + 1]
    if after.name == failed.name and canonical(after.arguments) == canonical(failed.arguments):
        return "retry"
    if after.name in relations.mates.get(failed.name, ()):
        return "switch"
    if relations.kinds.get(after.name) == "read" and _share_value(after, failed):
        return "verify"
    return "other"


def _share_value(a: ToolCall, b: ToolCall) -> bool:
    values = {canonical(v) for v in a.arguments.values()}
    return not values.isdisjoint(canonical(v) for v in b.arguments.values())


class Repeats(NamedTuple):
    """Writes sent again although they had been committed and their response lost or corrupted."""

    attempts: int
    effects: int


def repeats(
    calls: Sequence[ToolCall], executed: Sequence[LogEntry | None], lost: Sequence[int]
) -> Repeats:
    """Count duplicate attempts, and those of them that changed the state again.

    Args:
        executed: for each call, its entry in the executed log; None if it never ran.
        lost: positions of committed writes whose response was lost or corrupted.
    """
    first: dict[tuple[str, str], int] = {}
    for step in lost:
        first.setdefault(_identity(calls[step]), step)
    tools = {calls[step].name for step in lost}
    again = [
        step
        for step, call in enumerate(calls)
        if call.name in tools and step > first.get(_identity(call), len(calls))
    ]
    entries = [executed[step] for step in again]
    return Repeats(len(again), sum(entry is not None and entry.changed for entry in entries))


def _identity(call: ToolCall) -> tuple[str, str]:
    return call.name, canonical(call.arguments)


def viable_unused(
    calls: Sequence[ToolCall],
    failing: Sequence[int],
    blocked: frozenset[str],
    offered: frozenset[str],
    relations: Relations,
) -> bool:
    """Say whether a transfer left a viable path untried (section 4, metrics).

    A tool is failing if the agent's last call of it came back with an explicit error. If none is,
    the plain path was open. Else a path was open around a failing tool if

    * the tool is not blocked and the call that failed was never repeated, or
    * it is blocked and another offered member of a class that holds it was never called.

    Args:
        failing: positions of the calls that came back with an injected error.
        offered: the tools that the agent has.
    """
    last = {call.name: step for step, call in enumerate(calls)}
    tools = {calls[step].name for step in failing if last[calls[step].name] == step}
    if not tools:
        return True
    made = Counter(map(_identity, calls))
    for tool in tools:
        if tool not in blocked:
            if made[_identity(calls[last[tool]])] == 1:
                return True
        elif (relations.mates.get(tool, frozenset()) & offered) - last.keys():
            return True
    return False
