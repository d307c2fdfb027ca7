"""What a memory believes: counts, and the Beta posteriors that follow from them (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

__all__ = ["Cell", "Cells", "Counts", "Memory", "combine"]

Cell: TypeAlias = tuple[str, str]
"""(tool, error), or (source tool, target tool)."""


class Counts(NamedTuple):
    """How many of ``total`` episodes succeeded; the posterior under a Beta(1, 1) prior."""

    hits: int = 0
    total: int = 0

    @property
    def mean(self) -> float:
        """The posterior mean α / (α + β), with α = 1 + hits and β = 1 + misses."""
        return (self.hits + 1) / (self.total + 2)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed posterior interval that holds ``level`` of the probability."""
        from scipy.special import betaincinv

        a, b = 1 + self.hits, 1 + self.total - self.hits
        tail = (1 - level) / 2
        return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))

    def plus(self, other: Counts) -> Counts:
        """Return both counts taken together."""
        return Counts(self.hits + other.hits, self.total + other.total)


Cells: TypeAlias = Mapping[Cell, Counts]
NOTHING = Counts()


@dataclass(frozen=True)
class Memory:
    """Posteriors of one domain.

    Attributes:
        suite: the digest of the data that the episodes were played on.
        episodes: how many episodes were counted.
        recovery: by (tool, error): of the episodes in which the tool hit the error, those that
            still succeeded. A cell that was never seen is absent, and its mean is 0.50.
        switch: by (source, target): the same for episodes that called the target while the source
            was failing.
    """

    domain: str = ""
    suite: str = ""
    episodes: int = 0
    recovery: Cells = field(default_factory=dict)
    switch: Cells = field(default_factory=dict)

    def recovers(self, tool: str, error: str) -> Counts:
        """Return the counts of P(episode recovery | error) of a tool."""
        return self.recovery.get((tool, error), NOTHING)

    def switches(self, source: str, target: str) -> Counts:
        """Return the counts of P(switch | source → target)."""
        return self.switch.get((source, target), NOTHING)


def combine(first: Memory, *others: Memory) -> Memory:
    """Return all counts taken together; domain and suite are those of ``first``."""
    every = (first, *others)
    return Memory(
        first.domain,
        first.suite,
        sum(memory.episodes for memory in every),
        _summed(memory.recovery for memory in every),
        _summed(memory.switch for memory in every),
    )


def _summed(parts: Iterable[Cells]) -> Cells:
    sums: dict[Cell, Counts] = {}
    for part in parts:
        for cell, counts in part.items():
            sums[cell] = sums.get(cell, NOTHING).plus(counts)
    return sums
