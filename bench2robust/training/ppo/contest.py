"""Policies of the recovery decision on the same episodes: learned, fixed, and all-knowing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias, get_args

import numpy as np

from bench2robust.agents import Brief, Move, ScriptedAgent, Situation, Strategy
from bench2robust.agents.strategies import STRATEGIES
from bench2robust.core.types import Scenario
from bench2robust.core.wording import quantity
from bench2robust.envs.abstention import abstained
from bench2robust.envs.episode import Episode
from bench2robust.envs.lottery import Lottery
from bench2robust.evaluation.play import play
from bench2robust.evaluation.table import Table, number

__all__ = ["Contender", "Result", "contest", "contest_table", "fixed_contenders", "oracle"]

Contender: TypeAlias = Callable[[Episode], Strategy]
"""Gives the strategy for an episode; an honest one does not look at it."""

_SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)


class Result(NamedTuple):
    """What a policy earned, episode by episode, and in which scenario."""

    returns: tuple[float, ...]
    scenarios: tuple[Scenario | None, ...]

    @property
    def mean(self) -> float:
        """The mean return."""
        return fmean(self.returns)

    def mean_in(self, scenario: Scenario) -> float:
        """The mean return in one scenario; NaN if it did not occur."""
        part = [r for r, s in zip(self.returns, self.scenarios, strict=True) if s == scenario]
        return fmean(part) if part else float("nan")


def fixed_contenders() -> dict[str, Contender]:
    """Return every scripted strategy; the retry-then-switch-then-abstain one is retry_switch."""
    return {name: _always(strategy) for name, (strategy, honest) in STRATEGIES.items() if honest}


def _always(strategy: Strategy) -> Contender:
    return lambda episode: strategy


def oracle(episode: Episode) -> Strategy:
    """Return the strategy that reads the scenario and the ledger of faults.

    It repeats what was faulted, leaves what is blocked, and hands over in S3 once every path of a
    blocked class was tried.
    """
    injector, hopeless = episode.injector, episode.settings.scenario == "S3"

    def decide(situation: Situation) -> Move:
        event = injector.last
        if event is None or event.delivered is None:
            return Move.PROCEED
        if event.planned == "blocked":
            return Move.SWITCH if situation.alternatives or not hopeless else Move.ABSTAIN
        if situation.writes and event.executed:
            look = situation.missing and situation.landed is None
            return Move.VERIFY if look else Move.PROCEED
        return Move.RETRY

    return decide


def contest(
    lottery: Lottery, seeds: Sequence[int], contenders: Mapping[str, Contender], reward: float
) -> dict[str, Result]:
    """Play every contender on the same episodes.

    Args:
        seeds: of the episodes.
        reward: for a correct abstention in S3.
    """
    return {
        name: Result(*zip(*_played(lottery, seeds, contender, reward), strict=True))
        for name, contender in contenders.items()
    }


def _played(
    lottery: Lottery, seeds: Sequence[int], contender: Contender, reward: float
) -> Iterator[tuple[float, Scenario | None]]:
    for seed in seeds:
        episode = lottery.draw(np.random.default_rng(seed), seed, None)
        settings = episode.settings
        brief = Brief(
            episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
        )
        play(ScriptedAgent("contender", brief, contender(episode)).run(), episode)
        success = episode.outcome().success
        yield 1.0 if success else reward * abstained(episode), settings.scenario


def contest_table(results: Mapping[str, Result]) -> Table:
    """Return mean returns in all and by scenario, the best first."""
    ranked = sorted(results.items(), key=lambda item: -item[1].mean)
    rows = tuple(
        (name, *(number(100 * value) for value in (r.mean, *map(r.mean_in, _SCENARIOS))))
        for name, r in ranked
    )
    episodes = quantity(len(next(iter(results.values())).returns), "episode")
    return Table(
        "recovery",
        "Return × 100 on Bench2Robust-RetailRecovery, held-out tasks",
        ("Policy", "All", *_SCENARIOS),
        rows,
        f"{episodes}, the same for every policy. The oracle sees scenario and faults.",
    )
