"""The exact McNemar test: a binomial test of wins against losses among discordant pairs."""

from __future__ import annotations

from bench2robust.core.errors import UsageError

__all__ = ["exact_mcnemar"]


def exact_mcnemar(wins: int, losses: int) -> float:
    """Return the two-sided exact p-value that wins and losses are equally likely.

    Twice the smaller binomial tail, at most 1; without discordant pairs it is 1. Pairs must be
    independent: several seeds of one task are not (use :func:`sign_flip`).

    Args:
        wins: pairs that only the second arm passed.
        losses: pairs that only the first arm passed.

    Raises:
        UsageError: a count is negative.
    """
    if wins < 0 or losses < 0:
        raise UsageError(f"Counts of pairs cannot be negative: {wins} wins, {losses} losses.")
    pairs = wins + losses
    ways = tail = 1  # how many sign patterns have k of the rarer outcome, and at most k
    for k in range(min(wins, losses)):
        ways = ways * (pairs - k) // (k + 1)
        tail += ways
    # Integers of any size, divided once: the result is the exact rational, correctly rounded.
    return min(1.0, 2 * tail / (1 << pairs))
