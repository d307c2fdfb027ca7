"""The paired contrast of two arms over the same tasks: every figure in one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.statistics.bootstrap import Interval, cluster_bootstrap
from bench2robust.evaluation.statistics.mcnemar import exact_mcnemar
from bench2robust.evaluation.statistics.power import detectable_difference, tasks_needed
from bench2robust.evaluation.statistics.signflip import sign_flip

__all__ = ["Contrast", "Effect", "Pair", "cluster_effect", "paired_contrast"]


class Pair(NamedTuple):
    """One task and seed, played by both arms."""

    task: str
    first: bool
    second: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """A mean difference per pair with its uncertainty, tasks as clusters.

    Attributes:
        tasks: clusters.
        pairs: pairs in all of them.
        difference: second arm minus first, from -1 to 1 for binary outcomes.
        interval: 95 %, expanded percentile bootstrap of tasks; see :func:`cluster_effect`.
        p_value: of the exact sign-flip test over tasks.
        spread: the mean squared difference per task (ψ of :mod:`.power`).
        detectable: the smallest true difference that so many tasks show with 80 % power.
    """

    tasks: int
    pairs: int
    difference: float
    interval: Interval
    p_value: float
    spread: float
    detectable: float

    def tasks_needed(self, difference: float) -> int:
        """Return how many tasks of this spread show ``difference`` with 80 % power.

        Raises:
            UsageError: the difference is 0 or larger than the spread allows.
        """
        return tasks_needed(difference, self.spread)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Paired outcomes of two arms.

    Attributes:
        effect: the difference and its uncertainty.
        first: pairs that the first arm passed.
        second: pairs that the second arm passed.
        wins: pairs that only the second passed.
        losses: pairs that only the first passed.
        p_mcnemar: of the exact McNemar test, which takes pairs as independent.
    """

    effect: Effect
    first: int
    second: int
    wins: int
    losses: int
    p_mcnemar: float

    @property
    def rescue_rate(self) -> float:
        """The share of the first arm's failures that the second passes; NaN without failures."""
        failures = self.effect.pairs - self.first
        return self.wins / failures if failures else nan

    @property
    def harm_rate(self) -> float:
        """The share of the first arm's passes that the second fails; NaN without passes."""
        return self.losses / self.first if self.first else nan


def paired_contrast(pairs: Iterable[Pair]) -> Contrast:
    """Return every figure of a paired comparison.

    Raises:
        UsageError: there are no pairs.
    """
    rows = list(pairs)
    by_task: defaultdict[str, list[int]] = defaultdict(list)
    for pair in rows:
        by_task[pair.task].append(pair.second - pair.first)
    wins = sum(pair.second > pair.first for pair in rows)
    losses = sum(pair.second < pair.first for pair in rows)
    return Contrast(
        cluster_effect([sum(d) for d in by_task.values()], [len(d) for d in by_task.values()]),
        sum(pair.first for pair in rows),
        sum(pair.second for pair in rows),
        wins,
        losses,
        exact_mcnemar(wins, losses),
    )


def cluster_effect(
    differences: Sequence[float], sizes: Sequence[int], limit: float = 1.0
) -> Effect:
    """Return the effect over clusters.

    Where all clusters agree there is no spread to resample, and a bootstrap interval would be a
    point. The interval is then exact instead: with 95 % confidence at most 1 - 0.05^(1/n) of all
    clusters differ from the value v that n of n had, at most by ``limit`` - v or ``limit`` + v.

    Args:
        differences: one per cluster: the sum over its pairs.
        sizes: pairs per cluster.
        limit: the largest absolute difference that a pair can have.

    Raises:
        UsageError: there are no clusters.
    """
    tasks, pairs = len(differences), sum(sizes)
    if not tasks:
        raise UsageError("There is no pair to compare.")
    mean = sum(differences) / pairs
    if len({d / n for d, n in zip(differences, sizes, strict=True)}) == 1:
        others = 1 - 0.05 ** (1 / tasks)
        interval = Interval(mean - others * (limit + mean), mean + others * (limit - mean))
    else:
        interval = cluster_bootstrap(differences, sizes, expand=True)
    # Each cluster's share in the mean per pair, so that clusters of several sizes weigh right.
    spread = sum((d * tasks / pairs) ** 2 for d in differences) / tasks
    return Effect(
        tasks,
        pairs,
        mean,
        interval,
        sign_flip(differences),
        spread,
        detectable_difference(tasks, spread),
    )
