"""Training curricula: phases, what ends each, and the schedules that come with the package."""

from __future__ import annotations

from bench2robust.curricula.schedule import (
    Advance,
    Curriculum,
    Mix,
    Phase,
    Ramp,
    Stop,
    curriculum_names,
    load_curriculum,
)
from bench2robust.curricula.state import Advanced, PhaseState
from bench2robust.curricula.statistics import (
    EpisodeFacts,
    IterationStats,
    ScenarioStats,
    episode_facts,
    tally,
)

__all__ = [
    "Advance",
    "Advanced",
    "Curriculum",
    "EpisodeFacts",
    "IterationStats",
    "Mix",
    "Phase",
    "PhaseState",
    "Ramp",
    "ScenarioStats",
    "Stop",
    "curriculum_names",
    "episode_facts",
    "load_curriculum",
    "tally",
]
