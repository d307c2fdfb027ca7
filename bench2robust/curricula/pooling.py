"""Pooled figures: sums over the last iterations of a phase, until they hold enough episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from bench2robust.core.types import Scenario
from bench2robust.core.wording import quantity
from bench2robust.curricula.statistics import IterationStats, ScenarioStats

__all__ = ["Figure", "Part", "figure", "over", "part"]

Part: TypeAlias = Callable[[ScenarioStats], float]


def part(*scenarios: Scenario) -> Callable[[IterationStats], ScenarioStats]:
    """Return a function that sums an iteration's statistics over ``scenarios``."""

    def pick(stats: IterationStats) -> ScenarioStats:
        return reduce(
            ScenarioStats.__add__,
            (stats.scenarios[name] for name in scenarios if name in stats.scenarios),
            ScenarioStats(),
        )

    return pick


class Figure(NamedTuple):
    """A pooled mean or share.

    Attributes:
        value: the figure; None while the pool is too small.
        episodes: how many it is over.
        iterations: how many iterations were pooled.
    """

    value: float | None
    episodes: int
    iterations: int

    @property
    def text(self) -> str:
        """The figure in words."""
        value = "unknown" if self.value is None else f"{self.value:.3f}"
        episodes = quantity(self.episodes, "episode")
        return f"{value} ({episodes} of {quantity(self.iterations, 'iteration')})"


def over(top: Part, bottom: Part, scenarios: tuple[Scenario, ...]) -> Callable[..., Figure]:
    """Return a function that pools ``top`` / ``bottom`` over some scenarios."""

    def pool(history: Sequence[IterationStats], iterations: int, episodes: int) -> Figure:
        return figure(list(map(part(*scenarios), history)), top, bottom, iterations, episodes)

    return pool


def figure(
    sums: Sequence[ScenarioStats], top: Part, bottom: Part, iterations: int, episodes: int
) -> Figure:
    """Pool the shortest tail of ``sums`` with enough iterations and episodes.

    Args:
        sums: of each iteration of the phase, oldest first.
    """
    upper = lower = 0.0
    for used, stats in enumerate(reversed(sums), 1):
        upper, lower = upper + top(stats), lower + bottom(stats)
        if used >= iterations and lower >= episodes:
            return Figure(upper / lower, int(lower), used)
    return Figure(None, int(lower), len(sums))
