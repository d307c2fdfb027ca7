"""The recovery decision: what an agent sees after a call, and what it can do about it.

Every scripted strategy is a function from :class:`Situation` to :class:`Move`, and so is a policy
trained on ``Bench2Robust-RetailRecovery``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from bench2robust.agents.signals import Signal

__all__ = ["Move", "Situation", "Strategy"]


class Move(IntEnum):
    """What to do next. A move that is not possible here counts as ``PROCEED``."""

    PROCEED = 0
    """Take what came back and go on."""
    RETRY = 1
    """Make the same call again and forget what it brought."""
    SWITCH = 2
    """Get the same facts by the next alternative path."""
    VERIFY = 3
    """Read: fetch once more and compare. Write: read the record to see whether it landed."""
    ASK = 4
    """Ask the user for details and confirmation."""
    ABSTAIN = 5
    """Hand over to a human."""


class Situation(NamedTuple):
    """What the agent knows just after a call; nothing in it comes from the hidden state.

    Attributes:
        writes: the call was a write.
        signal: what the result's text says went wrong; empty if it looks right.
        failures: how often in a row this call has failed; 0 if it has not.
        fetches: how many clean results this step has brought so far.
        alternatives: how many alternative paths are left untried.
        switched: an alternative path is being followed.
        missing: a value that the rest of the work needs is absent or empty in the result.
        agreeing: how many of them agree on the values that the rest of the work needs.
        landed: for a write after :attr:`Move.VERIFY`: whether the record shows it; else None.
        matters: a later step depends on this result, or it is a write.
        steps_left: how many steps the episode has left.
        steps_needed: how many the rest of the work takes if nothing fails.
        last: the call is the last (or only) one of its path; else another completes it.
        tool: the tool that was called.
        wanted: the tool whose facts are wanted; another than ``tool`` on an alternative path.
        target: the tool of the next untried alternative path; empty if none is left.
        receipt: a monitor's receipt came with the result.
        listed: ``target`` is one of the ways out that the receipt names; a receipt in plain text
            names all that is documented.
    """

    writes: bool
    signal: Signal
    failures: int
    fetches: int
    alternatives: int
    switched: bool
    missing: bool
    agreeing: int
    landed: bool | None
    matters: bool
    steps_left: int
    steps_needed: int
    last: bool
    tool: str = ""
    wanted: str = ""
    target: str = ""
    receipt: bool = False
    listed: bool = False


Strategy: TypeAlias = Callable[[Situation], Move]
