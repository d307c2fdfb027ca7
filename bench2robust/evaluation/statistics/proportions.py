"""Intervals for one proportion, over independent trials."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.statistics.bootstrap import Interval

__all__ = ["clopper_pearson", "wilson"]


def clopper_pearson(hits: int, trials: int, level: float = 0.95) -> Interval:
    """Return the exact interval: it covers at least ``level`` whatever the true proportion.

    For a one-sided bound at 95 % take the end of the interval at 90 %; with no hits that upper
    bound is 1 - 0.05^(1/trials), about 3/trials (the rule of three).

    Raises:
        UsageError: no trials, or hits outside 0 ... trials.
    """
    from scipy.special import betaincinv  # slow to import, and not needed by most runs

    _check(hits, trials)
    tail, misses = (1 - level) / 2, trials - hits
    low = float(betaincinv(hits, misses + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - tail)) if misses else 1.0
    return Interval(low, high)


def wilson(hits: int, trials: int, level: float = 0.95) -> Interval:
    """Return the score interval (Wilson 1927): shorter, covers ``level`` on average.

    Raises:
        UsageError: no trials, or hits outside 0 ... trials.
    """
    _check(hits, trials)
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = hits / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = z * sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    low = 0.0 if not hits else centre - half
    high = 1.0 if hits == trials else centre + half
    return Interval(low, high)


def _check(hits: int, trials: int) -> None:
    if trials < 1 or not 0 <= hits <= trials:
        raise UsageError(f"{hits} hits of {trials} trials: give 0 <= hits <= trials, trials >= 1.")
