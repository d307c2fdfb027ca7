"""How small a paired difference a number of tasks can show, and how many tasks one needs.

With δ the true difference and ψ the mean squared difference per task, the mean has the variance
ψ/n under the null hypothesis and (ψ - δ²)/n under the alternative, so the power is reached where

    z_{1-α/2} √ψ + z_{power} √(ψ - δ²) = δ √n        (Connor 1987, Miettinen 1968).

For one pair of binary outcomes per task, ψ is the discordance: the share of pairs that differ.
"""

from __future__ import annotations

from math import ceil, inf, sqrt
from statistics import NormalDist

from bench2robust.core.errors import UsageError

__all__ = ["detectable_difference", "exact_power", "tasks_needed"]


def detectable_difference(
    tasks: int, discordance: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest difference δ that ``tasks`` show with this power (the MDE).

    The equation above, solved for δ; infinite if so few tasks show no difference at all.

    Args:
        discordance: ψ, from 0 to 1 for binary outcomes.
    """
    _check(discordance, alpha, power)
    z_alpha, z_power = _quantiles(alpha, power)
    if tasks <= z_alpha**2 - z_power**2:
        return inf
    root = z_power * sqrt(tasks + z_power**2 - z_alpha**2)
    return sqrt(discordance) * (z_alpha * sqrt(tasks) + root) / (tasks + z_power**2)


def tasks_needed(
    difference: float, discordance: float, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Return how many tasks show ``difference`` with this power.

    Raises:
        UsageError: the difference is 0, or larger than the discordance allows.
    """
    _check(discordance, alpha, power)
    if not 0 < abs(difference) <= sqrt(discordance):
        raise UsageError(
            f"A difference of {difference} with a discordance of {discordance}: "
            "give 0 < |difference| <= √discordance."
        )
    z_alpha, z_power = _quantiles(alpha, power)
    spread = z_alpha * sqrt(discordance) + z_power * sqrt(discordance - difference**2)
    return ceil((spread / difference) ** 2)


def exact_power(tasks: int, difference: float, discordance: float, alpha: float = 0.05) -> float:
    """Return the chance that the exact McNemar test rejects, by enumeration.

    One binary pair per task: wins with probability (ψ + δ)/2, losses with (ψ - δ)/2. With δ = 0
    this is the test's true size, never above ``alpha``.

    Raises:
        UsageError: the difference is larger than the discordance.
    """
    import numpy as np
    from scipy.stats import binom

    if not abs(difference) <= discordance <= 1:
        raise UsageError(
            f"A difference of {difference} with a discordance of {discordance}: "
            "give |difference| <= discordance <= 1."
        )
    discordant = np.arange(tasks + 1)
    critical = np.asarray(binom.ppf(alpha / 2, discordant, 0.5))
    critical -= 2 * binom.cdf(critical, discordant, 0.5) > alpha  # the largest k that rejects
    win = 0.5 if not discordance else (discordance + difference) / (2 * discordance)
    few = binom.cdf(critical, discordant, win)
    many = binom.sf(discordant - critical - 1, discordant, win)
    return float(np.sum(binom.pmf(discordant, tasks, discordance) * (few + many)))


def _quantiles(alpha: float, power: float) -> tuple[float, float]:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(power)


def _check(discordance: float, alpha: float, power: float) -> None:
    if discordance < 0 or not 0 < alpha < 1 or not 0.5 <= power < 1:
        raise UsageError(
            f"discordance {discordance}, alpha {alpha}, power {power}: give discordance >= 0, "
            "0 < alpha < 1 and 0.5 <= power < 1."
        )
