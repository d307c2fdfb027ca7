"""Percentile bootstrap of clusters: exact where the resampled sum lies on a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.statistics.lattice import on_lattice

__all__ = ["Interval", "cluster_bootstrap"]

_REACH = 2_000_000
"""Largest span of the resampled sum, in lattice steps, that is convolved exactly."""
_TIE = 1e-12
_BATCH = 20_000
_Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class Interval(NamedTuple):
    """An interval, ends included."""

    low: float
    high: float


def cluster_bootstrap(
    differences: Sequence[float],
    sizes: Sequence[int] | None = None,
    level: float = 0.95,
    *,
    expand: bool = False,
    resamples: int = 200_000,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of the mean difference per pair.

    Whole clusters are drawn with replacement and the statistic is the sum of their differences
    over the sum of their sizes. For clusters of one size, its distribution is the n-fold
    convolution of the observed one: no sampling, and the same ends as infinitely many resamples.

    Args:
        differences: one per cluster: the sum over its pairs, second arm minus first.
        sizes: pairs per cluster; by default 1 each.
        level: nominal coverage.
        expand: widen for the number of clusters (Hesterberg 2015, section 5.3): the plain interval
            ignores that the spread itself is estimated, and covers too little below 50 clusters.
        resamples: how many are drawn where the distribution cannot be counted.
        seed: of the drawing.

    Raises:
        UsageError: there is no cluster, or one without a pair.
    """
    sizes = [1] * len(differences) if sizes is None else sizes
    if not differences or min(sizes) < 1:
        raise UsageError("A bootstrap needs at least one cluster, each with at least one pair.")
    tail = (1 - level) / 2
    if expand and len(differences) > 1:
        tail = _expanded(tail, len(differences))
    if len(set(sizes)) == 1:
        lattice = on_lattice(differences, _REACH // len(differences))
        if lattice is not None:
            integers, scale = lattice
            low, high = _counted(integers, tail)
            whole = scale * sum(sizes)
            return Interval(low / whole, high / whole)
    return _resampled(differences, sizes, tail, resamples, seed)


def _expanded(tail: float, clusters: int) -> float:
    """Return the tail at which a normal interval is as wide as Student's with n, not n - 1."""
    from scipy.special import ndtr, stdtrit  # slow to import, and not needed by most runs

    return float(ndtr(stdtrit(clusters - 1, tail) * sqrt(clusters / (clusters - 1))))


def _counted(values: Sequence[int], tail: float) -> tuple[int, int]:
    """Return the ends of the resampled sum: no more than ``tail`` lies beyond each of them."""
    n, least = len(values), min(values)
    pmf = _convolved(np.bincount(np.asarray(values) - least) / n, n)
    below, above = np.cumsum(pmf), np.cumsum(pmf[::-1])
    low = int(np.argmax(below >= tail - _TIE))
    high = len(pmf) - 1 - int(np.argmax(above >= tail - _TIE))
    return least * n + low, least * n + high


def _convolved(pmf: _Floats, times: int) -> _Floats:
    """Return the distribution of the sum of ``times`` independent draws, by squaring."""
    result = np.ones(1)
    while times:
        if times % 2:
            result = np.convolve(result, pmf)
        times //= 2
        if times:
            pmf = np.convolve(pmf, pmf)
    return result


def _resampled(
    differences: Sequence[float], sizes: Sequence[int], tail: float, n: int, seed: int
) -> Interval:
    """Draw how often each distinct cluster occurs: there are far fewer than clusters."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = np.column_stack([np.asarray(differences, dtype=float), np.asarray(sizes, dtype=float)])
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    means = np.empty(n)
    for start in range(0, n, _BATCH):
        times = rng.multinomial(len(rows), counts / len(rows), min(_BATCH, n - start))
        sums = times @ kinds
        means[start : start + len(sums)] = sums[:, 0] / sums[:, 1]
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high))
