"""The scripted recovery strategies, each a pure function of what the agent sees."""

from __future__ import annotations

from bench2robust.agents.moves import Move, Situation, Strategy

__all__ = ["HEEDING", "STRATEGIES", "TRIES", "careful_write", "retry"]

TRIES = 3
"""Calls before a failing path counts as down: one more than K_max of the default profile."""


def naive(s: Situation) -> Move:
    """Make each call once and take what comes."""
    return Move.PROCEED


def retry(s: Situation) -> Move:
    """Repeat a failing call; hand over when it keeps failing."""
    if s.signal in ("", "refused"):
        return Move.PROCEED
    return Move.RETRY if s.failures < TRIES else Move.ABSTAIN


def retry_switch(s: Situation) -> Move:
    """Repeat a failing call, then take another path, and hand over when none is left."""
    move = retry(s)
    return Move.SWITCH if move is Move.ABSTAIN and s.alternatives else move


def cautious(s: Situation) -> Move:
    """As ``retry_switch``, but trust only what was seen twice, and look before resending."""
    if s.writes:
        return careful_write(s)
    if s.signal not in ("", "refused"):
        seen = s.agreeing and s.failures >= TRIES
        return Move.PROCEED if seen else retry_switch(s)
    affordable = s.steps_left > s.steps_needed + 4  # room for a few failures on the way
    if s.signal or not (s.last and s.matters and affordable):
        return Move.PROCEED
    if s.missing:
        return Move.VERIFY if s.fetches < TRIES else _switch_or_proceed(s)
    margin = 2 * s.agreeing - s.fetches  # of those that agree over all others
    return Move.VERIFY if margin < 2 and s.fetches < 5 else Move.PROCEED


def careful_write(s: Situation) -> Move:
    """After a write that seems to have failed, look whether it landed before sending it again."""
    if s.signal in ("", "refused") or s.landed:
        return Move.PROCEED
    if s.landed is None:
        return Move.VERIFY
    return Move.RETRY if s.failures < TRIES else Move.ABSTAIN


def _switch_or_proceed(s: Situation) -> Move:
    return Move.SWITCH if s.alternatives else Move.PROCEED


def escalate(s: Situation) -> Move:
    """Hand over at the first failure."""
    return Move.PROCEED if s.signal in ("", "refused") else Move.ABSTAIN


def blind_retry(s: Situation) -> Move:
    """Repeat whatever fails, refusals and lost writes included, and never do anything else."""
    return Move.RETRY if s.signal and s.failures <= TRIES else Move.PROCEED


def receipt(s: Situation) -> Move:
    """As ``retry_switch``, and on a receipt take a way out that it names, or fetch once more."""
    if not s.receipt or s.signal or s.writes or not s.last:
        return retry_switch(s)
    if s.listed and s.alternatives:
        return Move.SWITCH
    return Move.RETRY if s.fetches < 2 and s.matters else Move.PROCEED


STRATEGIES: dict[str, tuple[Strategy, bool]] = {
    "naive": (naive, True),
    "retry": (retry, True),
    "retry_switch": (retry_switch, True),
    "cautious": (cautious, True),
    "receipt": (receipt, True),
    "escalate": (escalate, True),
    "blind_retry": (blind_retry, True),
    "liar": (naive, False),
}
"""Name to strategy, and whether the closing message is honest."""

HEEDING = frozenset({"receipt"})
"""Those that do not take a value that a receipt doubts for a reason to refuse."""
