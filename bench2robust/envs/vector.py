"""Many episodes in one process, without threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from bench2robust.core.errors import UsageError

__all__ = ["BatchEnv"]

Obs = TypeVar("Obs")
Act = TypeVar("Act")
Array = NDArray[Any]
Step = tuple[Any, Array, Array, Array, dict[str, Any]]


class BatchEnv(VectorEnv[Any, Any, Array]):
    """Steps ``num_envs`` copies of an environment one after another.

    Differs from ``gymnasium.vector.SyncVectorEnv`` in speed only: observations are gathered into
    fresh arrays instead of being copied deeply.

    Args:
        make: makes one environment; it is called ``num_envs`` times.
        num_envs: how many.
        autoreset_mode: what happens to a finished episode, as Gymnasium defines it.
    """

    def __init__(
        self,
        make: Callable[[], gym.Env[Any, Any]],
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__()
        if num_envs < 1:
            raise UsageError(f"num_envs must be at least 1, not {num_envs}")
        self.envs = [make() for _ in range(num_envs)]
        self.num_envs = num_envs
        self.mode = AutoresetMode(autoreset_mode)
        first = self.envs[0]
        self.metadata = {**first.metadata, "autoreset_mode": self.mode}
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(first.observation_space, num_envs)
        self.action_space = batch_space(first.action_space, num_envs)
        self._last: list[Any] = [None] * num_envs
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start every episode, or those of ``options["reset_mask"]``.

        Args:
            seed: one seed an environment, or a number that gives ``seed, seed + 1, …``.
            options: passed to each environment, but for ``reset_mask``.
        """
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        infos: dict[str, Any] = {}
        for index, one in enumerate(self._seeds(seed)):
            if mask[index]:
                self._last[index], info = self.envs[index].reset(seed=one, options=options)
                self._done[index] = False
                infos = self._add_info(infos, info, index)
        return self._gather(), infos

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return range(seed, seed + self.num_envs)
        if len(seed) != self.num_envs:
            raise UsageError(f"{len(seed)} seeds were given for {self.num_envs} environments")
        return seed

    def step(self, actions: Any) -> Step:
        """Take one action in each episode; a finished one is treated as the autoreset mode says."""
        if self.mode is AutoresetMode.DISABLED and self._done.any():
            raise UsageError("some episodes have ended: reset them with options={'reset_mask': …}")
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for i, (env, action) in enumerate(
            zip(self.envs, iterate(self.action_space, actions), strict=True)
        ):
            if self._done[i] and self.mode is AutoresetMode.NEXT_STEP:
                self._last[i], info = env.reset()
            else:
                self._last[i], rewards[i], terminated[i], truncated[i], info = env.step(action)
                if self.mode is AutoresetMode.SAME_STEP and (terminated[i] or truncated[i]):
                    final = {"final_obs": self._last[i], "final_info": info}
                    infos = self._add_info(infos, final, i)
                    self._last[i], info = env.reset()
            infos = self._add_info(infos, info, i)
        self._done = terminated | truncated
        return self._gather(), rewards, terminated, truncated, infos

    def _gather(self) -> Any:
        empty = create_empty_array(self.single_observation_space, self.num_envs, np.empty)
        return concatenate(self.single_observation_space, self._last, empty)

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close each environment."""
        for env in self.envs:
            env.close()
