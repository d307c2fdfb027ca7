"""An environment for SkyRL-gym.

Register it by name, in a module other than this one::

    from skyrl_gym.envs.registration import register

    register(id="bench2robust", entry_point="bench2robust.seams.environments.skyrl_env:SkyRLEnv")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from bench2robust.agents.messages import Message, plain
from bench2robust.core.errors import UsageError
from bench2robust.seams.environments.text import TextEpisode, World

__all__ = ["SkyRLEnv"]


class SkyRLEnv(BaseTextEnv):
    """One episode.

    Args:
        env_config: the values of :class:`~bench2robust.seams.environments.World`.
        extras: the columns of a dataset row: ``task``, and optionally ``seed`` of the faults and
            ``scenario`` (S1, S2, S3, or nothing for a clean episode).
    """

    def __init__(
        self,
        env_config: Mapping[str, Any] | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._world = World(**dict(env_config or {}))
        self._row = dict(extras or {})
        self._episode: TextEpisode | None = None
        self.max_turns = self._world.max_steps

    def init(self, prompt: list[Message]) -> tuple[list[Message], dict[str, Any]]:
        """Start the episode; its own messages take the place of the row's prompt."""
        row = self._row
        self._episode = self._world.start(
            row.get("task"), int(row.get("seed") or 0), row.get("scenario") or None
        )
        return self._episode.messages, self._episode.facts

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Do what the policy's text asks for; the reward comes at the end."""
        episode = self._running()
        self.turns += 1
        back = episode.step(action)
        return BaseTextEnvStepOutput(
            observations=[] if episode.done else [plain("user", back)],
            reward=episode.reward if episode.done else 0.0,
            done=episode.done,
            metadata=episode.facts,
        )

    def get_metrics(self) -> dict[str, Any]:
        """Return what SkyRL averages over episodes."""
        facts = self._running().facts
        return {name: facts[name] for name in ("success", "steps", "faults")}

    def _running(self) -> TextEpisode:
        if self._episode is None:
            raise UsageError("call init() before anything else")
        return self._episode
