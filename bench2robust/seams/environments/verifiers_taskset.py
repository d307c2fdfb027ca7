"""A taskset for verifiers v1, with the environment that plays it.

verifiers finds a taskset by the name of a top-level module:
``configs/verifiers/bench2robust_v1.py`` is one to copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import verifiers.v1 as vf

from bench2robust.core.types import Scenario
from bench2robust.seams.environments.text import World

__all__ = ["Bench2RobustEnv", "Bench2RobustTaskset"]


class Data(vf.TaskData):
    """One episode: a task, the seed of its faults, a scenario or none."""

    task: str
    seed: int
    scenario: Scenario | None
    world: dict[str, Any]


class EpisodeTask(vf.Task[Data]):
    """Scored by the environment, which has the episode."""


class TasksetConfig(vf.TasksetConfig):
    """What is played, as ``--env.taskset.KEY`` takes it."""

    domain: str = "retail"
    data: str | None = None
    split: str = "train"
    faults: str = "paper"
    alternatives: bool = True
    max_steps: int = 25
    memory: str = "none"
    abstention: bool = False
    tasks: tuple[str, ...] = ()
    """Ids of tasks; all of the split if empty."""
    seeds: tuple[int, ...] = (0,)
    scenarios: tuple[str, ...] = ("clean", "S1")

    def world(self) -> dict[str, Any]:
        """Return the values of a :class:`World`."""
        values: dict[str, Any] = self.model_dump(include=set(World.__dataclass_fields__))
        return values


class Bench2RobustTaskset(vf.Taskset[EpisodeTask, TasksetConfig]):
    """Every task with every seed and scenario that it has."""

    def load(self) -> Iterator[EpisodeTask]:
        """Yield the episodes."""
        config = self.config
        values = config.world()
        world = World(**values)
        ids = config.tasks or [task.id for task in world.tasks()]
        for task, seed, name in product(ids, config.seeds, config.scenarios):
            scenario = None if name == "clean" else name
            if world.has(task, seed, scenario):
                row = {"task": task, "seed": seed, "scenario": scenario, "world": values}
                yield EpisodeTask(Data(name=f"{task}/{name}/{seed}", **row), config.task)


class EnvConfig(vf.EnvConfig):
    """One player."""

    player: vf.AgentConfig = vf.AgentConfig()


class Bench2RobustEnv(vf.Env[EnvConfig]):
    """Drives one episode with the player's texts."""

    async def run(self, task: EpisodeTask, agents: vf.Agents) -> None:
        """Play the episode and record its reward."""
        data = task.data
        episode = World(**data.world).start(data.task, data.seed, data.scenario)
        system, opening = (message["content"] for message in episode.messages)
        told = task.with_system_prompt(system)
        async with agents.player.interaction(told) as interaction:
            segment = await interaction.turn(opening)
            while not segment.terminated:
                back = episode.step(segment.last_reply)
                if episode.done:
                    break
                segment = await interaction.turn(back)
        interaction.trace.record_reward("bench2robust", episode.reward)
        interaction.trace.record_metric("success", episode.facts["success"])
