"""Made-up iterations, so that each criterion meets exactly the figures that it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.core.types import Scenario
from bench2robust.curricula import IterationStats, ScenarioStats

Stats = Callable[..., ScenarioStats]
NAMES: dict[str, Scenario] = {"S1": "S1", "S2": "S2", "S3": "S3"}


@pytest.fixture
def scenario() -> Stats:
    """Make the sums of a scenario from rates: ``scenario(40, passed=0.5)``."""

    def make(episodes: int, turns: float = 10, blocked: float = 1.0, **rates: float) -> Any:
        counts = {name: round(rate * episodes) for name, rate in rates.items() if name != "reward"}
        counts["switched"] = round(rates.get("switched", 0) * episodes * blocked)
        return ScenarioStats(
            episodes=episodes,
            reward=rates.get("reward", 0.0) * episodes,
            turns=round(turns * episodes),
            blocked=round(blocked * episodes),
            **{name: counts.get(name, 0) for name in ("passed", "transferred", "premature")},
            abstained=counts.get("abstained", 0),
            switched=counts["switched"],
        )

    return make


@pytest.fixture
def iteration() -> Callable[..., IterationStats]:
    """Make an iteration: ``iteration(3, S1=scenario(40, passed=0.5))``."""

    def make(number: int, **scenarios: ScenarioStats) -> IterationStats:
        return IterationStats(number, {NAMES[name]: stats for name, stats in scenarios.items()})

    return make
