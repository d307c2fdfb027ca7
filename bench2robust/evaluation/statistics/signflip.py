"""The exact sign-flip test over clusters: arms exchange labels within a whole task at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from bench2robust.evaluation.statistics.lattice import on_lattice

__all__ = ["sign_flip"]

_WORK = 10**11
"""Most bit operations, about clusters² times the sum of sizes, that counting may take (seconds)."""
_BATCH = 10_000


def sign_flip(differences: Sequence[float], resamples: int = 200_000, seed: int = 0) -> float:
    """Return the two-sided p-value of the sum of the clusters' differences.

    Under the null hypothesis each cluster's difference is as likely with either sign; p is the
    share of the 2^m sign patterns whose sum is at least as far from 0 as the observed one. It is
    exact for differences on a lattice, such as sums of paired binary outcomes, and sampled for
    others, where it is never below 1 / (resamples + 1).

    Args:
        differences: one per cluster, second arm minus first; zeros do not matter.
        resamples: sign patterns that are sampled where they cannot be counted.
        seed: of the sampling.
    """
    lattice = on_lattice(differences, _WORK // max(1, len(differences)) ** 2)
    if lattice is None:
        return _sampled(np.asarray(differences, dtype=float), resamples, seed)
    return _counted(lattice[0])


def _counted(differences: Sequence[int]) -> float:
    """Count sign patterns by dynamic programming over the sum of the positive ones.

    A pattern whose positive sizes sum to t has the sum 2t - S, so the two tails are mirror images,
    and the lower one is t <= (S - |observed|) / 2. The counts for t = 0, 1, ... are kept in one
    integer, ``width`` bits each: adding a size is one shift and one addition.
    """
    sizes = sorted(abs(d) for d in differences if d)
    observed = abs(sum(differences))
    if not observed:
        return 1.0
    step = gcd(*sizes)
    reach = (sum(sizes) - observed) // 2 // step
    width = len(sizes) + 1
    kept = (1 << width * (reach + 1)) - 1
    ways = 1
    for size in sizes:
        if size > reach * step:
            break  # this size, and all after it, must be negative
        ways = (ways + (ways << width * (size // step))) & kept
    # The sum of an integer's digits to the base b is its remainder modulo b - 1.
    tail = ways % ((1 << width) - 1)
    return 2 * tail / (1 << len(sizes))


def _sampled(differences: np.ndarray[tuple[int], np.dtype[np.float64]], n: int, seed: int) -> float:
    rng = np.random.Generator(np.random.PCG64(seed))
    # Sums that differ only by rounding count as equal.
    observed = abs(float(differences.sum())) - 1e-9 * float(np.abs(differences).sum())
    extreme = 0
    for start in range(0, n, _BATCH):
        rows = min(_BATCH, n - start)
        signs = rng.integers(0, 2, (rows, len(differences)), dtype=np.int8) * 2.0 - 1.0
        extreme += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return (extreme + 1) / (n + 1)
