"""What an iteration of training did, in counts: all that a curriculum's decisions rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any, NamedTuple, get_args

from bench2robust.core.errors import DataError, shown
from bench2robust.core.types import Scenario
from bench2robust.evaluation.metrics import premature
from bench2robust.evaluation.reactions import Relations
from bench2robust.evaluation.record import EpisodeRecord

__all__ = ["EpisodeFacts", "IterationStats", "ScenarioStats", "episode_facts", "tally"]

_SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)


class EpisodeFacts(NamedTuple):
    """What a curriculum needs of one injected episode.

    Attributes:
        reward: as the trainer gave it.
        passed: the task was completed; in S3, never.
        transferred: it ended in a transfer to a human.
        premature: it was transferred although solvable.
        abstained: a correct abstention in S3.
        turns: calls and messages.
        blocked: S2: a blocked tool was called.
        switched: S2: and after that an open equivalent.
    """

    scenario: Scenario
    reward: float
    passed: bool
    transferred: bool
    premature: bool
    abstained: bool
    turns: int
    blocked: bool
    switched: bool


def episode_facts(
    record: EpisodeRecord, reward: float, relations: Relations
) -> EpisodeFacts | None:
    """Return the facts of an episode; None if it is clean or is not scored."""
    scenario = record["scenario"]
    if scenario not in _SCENARIOS or record["status"] != "ok":
        return None
    blocked, switched = _switch(record, relations) if scenario == "S2" else (False, False)
    return EpisodeFacts(
        scenario,
        reward,
        record["success"],
        record["transferred"],
        premature(record) and scenario != "S3",
        record["abstained"],
        record["steps"],
        blocked,
        switched,
    )


def _switch(record: EpisodeRecord, relations: Relations) -> tuple[bool, bool]:
    """Say whether a blocked tool was called, and an open equivalent of it after that."""
    calls = [event["call"] for event in record["events"] if "call" in event]
    closed = set(record["blocked"])
    hit = [place for place, name in enumerate(calls) if name in closed]
    switched = any(
        set(calls[place + 1 :]) & (relations.mates.get(calls[place], frozenset()) - closed)
        for place in hit
    )
    return bool(hit), switched


@dataclass(frozen=True, slots=True)
class ScenarioStats:
    """Sums over the injected episodes of one scenario; see :class:`EpisodeFacts`."""

    episodes: int = 0
    reward: float = 0.0
    passed: int = 0
    transferred: int = 0
    premature: int = 0
    abstained: int = 0
    turns: int = 0
    blocked: int = 0
    switched: int = 0

    def __add__(self, other: ScenarioStats) -> ScenarioStats:
        mine, theirs = asdict(self), asdict(other)
        return ScenarioStats(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True, slots=True)
class IterationStats:
    """One iteration.

    Attributes:
        iteration: its number, from 0.
        scenarios: the sums by planned scenario of the injected members.
    """

    iteration: int
    scenarios: Mapping[Scenario, ScenarioStats]

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        return {
            "iteration": self.iteration,
            "scenarios": {name: asdict(stats) for name, stats in self.scenarios.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> IterationStats:
        """Return what :meth:`to_json` wrote.

        Raises:
            DataError: the values are something else.
        """
        try:
            scenarios = {
                name: ScenarioStats(**values["scenarios"][name])
                for name in _SCENARIOS
                if name in values["scenarios"]
            }
            return cls(int(values["iteration"]), scenarios)
        except (KeyError, TypeError, ValueError):
            raise DataError(f"No statistics of an iteration: {shown(values)}.") from None


def tally(iteration: int, episodes: Iterable[EpisodeFacts | None]) -> IterationStats:
    """Return the statistics of an iteration; the order of the episodes does not matter."""
    facts = [episode for episode in episodes if episode is not None]
    found = {name: [f for f in facts if f.scenario == name] for name in _SCENARIOS}
    return IterationStats(iteration, {name: _sums(part) for name, part in found.items() if part})


def _sums(facts: list[EpisodeFacts]) -> ScenarioStats:
    return ScenarioStats(
        episodes=len(facts),
        reward=fsum(f.reward for f in facts),
        passed=sum(f.passed for f in facts),
        transferred=sum(f.transferred for f in facts),
        premature=sum(f.premature for f in facts),
        abstained=sum(f.abstained for f in facts),
        turns=sum(f.turns for f in facts),
        blocked=sum(f.blocked for f in facts),
        switched=sum(f.switched for f in facts),
    )
