"""The reward of a finished episode: equation 2, with the constants of table 12."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Outcome
from bench2robust.core.types import ToolCall

__all__ = [
    "abstention_credit",
    "efficiency",
    "partial_credit",
    "repeated_after_success",
    "repetition",
]

FREE_TURNS = 12
TURN_COST = 0.02
EFFICIENCY_FLOOR = 0.3
PARTIAL_WEIGHT = 0.3


def efficiency(turns: int) -> float:
    """Return eff(τ) = max(0.3, 1 - 0.02 · max(0, turns - 12)).

    Args:
        turns: tool calls plus messages to the user.
    """
    return max(EFFICIENCY_FLOOR, 1.0 - TURN_COST * max(0, turns - FREE_TURNS))


def repetition(calls: Iterable[ToolCall]) -> float:
    """Return rep(τ): 1.0, or 0.5 if some call was made three times, or 0.0 if four times.

    Two calls are identical if the tool and the canonical arguments are; the count runs over the
    whole episode (table 12).
    """
    made = list(calls)
    tools = Counter(call.name for call in made)
    # Most tools are called too rarely to matter, which spares the canonical text.
    counts = Counter(
        (call.name, canonical(call.arguments)) for call in made if tools[call.name] >= 3
    )
    most = max(counts.values(), default=0)
    return 1.0 if most < 3 else 0.5 if most == 3 else 0.0


def partial_credit(outcome: Outcome, turns: int, calls: Iterable[ToolCall]) -> float:
    """Return R(τ) of equation 2, between 0 and 1.

    A task completed earns eff(τ) · rep(τ); otherwise 0.3 · matched / required · rep(τ), which is
    0 where no call is required.
    """
    if outcome.success:
        return efficiency(turns) * repetition(calls)
    if not outcome.required:
        return 0.0
    return PARTIAL_WEIGHT * outcome.matched / outcome.required * repetition(calls)


def abstention_credit(turns: int, calls: Iterable[ToolCall]) -> float:
    """Return the reward of a correct abstention in S3, 1.0 · eff(τ) · rep(τ).

    Equation 2 has no such term, which the paper names as a limitation (appendix L).
    """
    return efficiency(turns) * repetition(calls)


def repeated_after_success(entries: Iterable[LogEntry]) -> list[ToolCall]:
    """Return the calls that count for :func:`repetition` if failed ones are not held against it.

    By the rule of table 12, two correct retries after two failures make three identical calls.
    Here a call counts from the first time that it came back without an error.

    Args:
        entries: the observed log: what the agent saw.
    """
    answered: set[tuple[str, str]] = set()
    counted = []
    for entry in entries:
        identity = (entry.call.name, canonical(entry.call.arguments))
        if not entry.result.is_error:
            answered.add(identity)
        if identity in answered:
            counted.append(entry.call)
    return counted
