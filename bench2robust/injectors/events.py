"""The ledger of an episode's faults: what was planned, what was delivered, what it changed."""

from __future__ import annotations

from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Path

__all__ = ["BLOCKED", "Change", "FaultEvent"]

BLOCKED = "blocked"
"""The ``planned`` of an event at a tool that the scenario blocks."""


class Change(NamedTuple):
    """One field of a result that a silent kernel changed; ``after`` is None if it took it away."""

    path: Path
    before: Json
    after: Json


class FaultEvent(NamedTuple):
    """One call at which a fault was planned. Never shown to an agent.

    Attributes:
        index: position of the call in the episode, from 0, over every call that reached the
            injector.
        tool: the tool called.
        nth: how many calls of this tool came before.
        planned: a fault type, or ``blocked``.
        delivered: the fault type whose response the agent got (for ``blocked``: ``auth_error`` or
            ``schema_drift``). None if the kernel could not change this result: the clean response
            went through and the call counts as clean.
        executed: the call really ran.
        committed: a write that ran and was not refused.
        changes: what a silent kernel changed, field by field.
        latency: simulated seconds that the response took on top of a clean one.
        retry_after: seconds that a rate limit asks the caller to wait, else None.
    """

    index: int  # type: ignore[assignment]  # a field may hide the tuple's own method
    tool: str
    nth: int
    planned: str
    delivered: str | None
    executed: bool
    committed: bool
    changes: tuple[Change, ...] = ()
    latency: float = 0.0
    retry_after: float | None = None
