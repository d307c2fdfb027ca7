"""pass^k: the chance that k independent trials of one task all pass."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

from bench2robust.core.errors import UsageError

__all__ = ["pass_hat_k"]


def pass_hat_k(counts: Iterable[tuple[int, int]], k: int) -> float:
    """Return the mean over tasks of C(c, k) / C(n, k), the unbiased estimate of τ-bench.

    Args:
        counts: per task, how many (c) of its trials (n) passed.
        k: how many must pass at once, at least 1.

    Raises:
        UsageError: no tasks, or a task has fewer than ``k`` trials.
    """
    tasks = list(counts)
    most = min((n for _, n in tasks), default=0)
    if not 1 <= k <= most:
        raise UsageError(f"pass^{k} of tasks with at least {most} trials: give k from 1 to that.")
    return sum(comb(c, k) / comb(n, k) for c, n in tasks) / len(tasks)
