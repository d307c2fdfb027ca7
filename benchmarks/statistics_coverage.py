"""Do the statistics keep their promises? Simulated agents whose true difference is known.

Prints, for several study sizes, how often the 95 % interval covers the true difference (2,000
replays each) and how often the exact tests reject where there is none (10,000 replays each).
Takes about half a minute on one core. The plain percentile interval, which ignores that the
spread is estimated, stands beside the expanded one that comparisons use.

A task has a difficulty; each agent has its own chance to pass it; seeds are trials. With common
random numbers, part of a trial's luck is shared by both agents. Tasks are drawn at random from a
population, over which the true difference is the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from bench2robust.evaluation.statistics import (
    clopper_pearson,
    cluster_bootstrap,
    cluster_effect,
    exact_mcnemar,
    exact_power,
    sign_flip,
)

POPULATION = 20_000
COVERAGE_REPLAYS = 2_000
TEST_REPLAYS = 10_000
SHARED_LUCK = 0.5
Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Trials: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Study:
    """How a simulated study looks.

    Attributes:
        tasks: how many are drawn.
        seeds: trials per task.
        shift: the second agent's advantage in log odds.
        taste: the standard deviation, in log odds, of what each agent has of its own per task; 0
            makes the two equally good at every task when ``shift`` is 0.
        difficulty: the mean log odds of passing.
    """

    tasks: int
    seeds: int
    shift: float
    taste: float
    difficulty: float = 0.0


STUDIES = (
    Study(10, 5, 0.5, 0.7),
    Study(20, 1, 0.5, 0.7),
    Study(20, 5, 0.5, 0.7),
    Study(30, 5, 0.5, 0.7),
    Study(50, 1, 0.0, 0.0),
    Study(50, 2, 0.8, 0.5),
    Study(57, 2, 0.0, 0.5),
    Study(80, 4, 1.0, 0.7, -2.0),
    Study(114, 5, 0.0, 1.0),
    Study(114, 5, 0.5, 1.0),
    Study(402, 5, 0.2, 0.7),
)
NULLS = tuple(
    Study(tasks, seeds, 0.0, taste)
    for tasks, seeds in ((10, 5), (20, 1), (50, 2), (80, 4), (114, 5))
    for taste in (0.0, 1.0)
)


def chances(study: Study, rng: np.random.Generator) -> Floats:
    """Return each agent's chance to pass each task of the population, shape (2, POPULATION)."""
    hard = study.difficulty + rng.normal(0, 1.5, POPULATION)
    own = study.taste * rng.normal(0, 1, (2, POPULATION))
    odds = hard + own + np.array([[0.0], [study.shift]])
    return np.asarray(1 / (1 + np.exp(-odds)))


def play(study: Study, chance: Floats, rng: np.random.Generator) -> Trials:
    """Return who passed in one replay, shape (2, tasks, seeds)."""
    drawn = chance[:, rng.integers(0, POPULATION, study.tasks), None]
    own = rng.random((2, study.tasks, study.seeds))
    common = rng.random((study.tasks, study.seeds))
    is_common = rng.random((study.tasks, study.seeds)) < SHARED_LUCK
    return np.asarray(np.where(is_common, common, own) < drawn)


def coverage(study: Study, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the true difference, and the coverage of the expanded and the plain interval."""
    chance = chances(study, rng)
    truth = float(np.mean(chance[1] - chance[0]))
    sizes = [study.seeds] * study.tasks
    expanded = plain = 0
    for _ in range(COVERAGE_REPLAYS):
        first, second = play(study, chance, rng)
        differences = (second.sum(axis=1) - first.sum(axis=1, dtype=np.int64)).tolist()
        low, high = cluster_effect(differences, sizes).interval
        expanded += low <= truth <= high
        low, high = cluster_bootstrap(differences, sizes)
        plain += low <= truth <= high
    return truth, expanded / COVERAGE_REPLAYS, plain / COVERAGE_REPLAYS


def rejections(study: Study, rng: np.random.Generator) -> tuple[int, int]:
    """Return how often the sign-flip and the McNemar test reject at 5 %."""
    chance = chances(study, rng)
    # Each task's agents in random order: the population's difference is then exactly 0.
    flipped, mcnemar = 0, 0
    for _ in range(TEST_REPLAYS):
        first, second = play(study, chance, rng)
        gain = second.astype(np.int64) - first
        swap = rng.integers(0, 2, (study.tasks, 1)) * 2 - 1
        gain *= swap
        flipped += sign_flip(gain.sum(axis=1).tolist()) <= 0.05
        mcnemar += exact_mcnemar(int((gain > 0).sum()), int((gain < 0).sum())) <= 0.05
    return flipped, mcnemar


def coverage_table(rng: np.random.Generator) -> Table:
    """Measure the intervals."""
    headings = ("tasks", "seeds", "true difference", "coverage", "plain percentile")
    table = Table(*headings, box=box.MARKDOWN)
    for study in STUDIES:
        truth, *shares = coverage(study, rng)
        marked = [f"{100 * s:.1f} % {'ok' if 0.93 <= s <= 0.97 else 'OUTSIDE'}" for s in shares]
        table.add_row(str(study.tasks), str(study.seeds), f"{100 * truth:+.1f}", *marked)
    return table


def rejection_table(rng: np.random.Generator) -> Table:
    """Measure the tests where the true difference is 0."""
    headings = ("tasks", "seeds", "agents differ by task", "sign-flip rejects", "McNemar rejects")
    table = Table(*headings, box=box.MARKDOWN)
    for study in NULLS:
        cells = []
        for hits in rejections(study, rng):
            above = clopper_pearson(hits, TEST_REPLAYS).low > 0.05
            cells.append(f"{100 * hits / TEST_REPLAYS:.2f} % {'ABOVE 5 %' if above else 'ok'}")
        table.add_row(str(study.tasks), str(study.seeds), "yes" if study.taste else "no", *cells)
    return table


def main() -> None:
    """Measure and print."""
    rng = np.random.Generator(np.random.PCG64(20260101))
    console = Console(width=110)
    console.print("Coverage of the 95 % task-cluster bootstrap interval, target 93-97 %:")
    console.print(coverage_table(rng))
    console.print("False positives at 5 % (McNemar takes seeds of one task as independent):")
    console.print(rejection_table(rng))
    sizes = [exact_power(n, 0.0, d) for n in range(1, 301) for d in (0.05, 0.1, 0.2, 0.4, 0.8)]
    console.print(
        f"Exact size of the McNemar test, one pair per task, by enumeration over 1 to 300 tasks: "
        f"at most {100 * max(sizes):.2f} %."
    )


if __name__ == "__main__":
    main()
