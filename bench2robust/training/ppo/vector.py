"""Recovery environments side by side, as Stable-Baselines3 wants them.

Its own ``DummyVecEnv`` copies every info deeply, which costs as much as our whole step, and takes
``info["episode"]`` for something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from bench2robust.envs.recovery import RetailRecoveryEnv, Vector

__all__ = ["RecoveryVecEnv"]


class RecoveryVecEnv(VecEnv):
    """Steps n recovery environments in one process; one that ends is reset at once.

    Args:
        envs: the environments; they are seeded by the first reset only, by :meth:`seed`.
    """

    def __init__(self, envs: Sequence[RetailRecoveryEnv]) -> None:
        self.envs = envs  # first, because the base class looks at them
        super().__init__(len(envs), envs[0].observation_space, envs[0].action_space)
        self._seeds: list[int | None] = [None] * len(envs)
        self._actions: Sequence[int] = ()
        self._returns = np.zeros(len(envs))
        self._lengths = np.zeros(len(envs), dtype=int)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Give each environment its own seed for the next reset."""
        self._seeds = [None if seed is None else seed + place for place in range(self.num_envs)]
        return self._seeds

    def reset(self) -> Vector:
        """Start an episode in every environment; shape (n, fields)."""
        seeds, self._seeds = self._seeds, [None] * self.num_envs
        started = [env.reset(seed=seed) for env, seed in zip(self.envs, seeds, strict=True)]
        return np.stack([observation for observation, _ in started])

    def step_async(self, actions: Any) -> None:
        """Take the moves of the next step."""
        self._actions = actions.tolist()

    def step_wait(self) -> tuple[Vector, Any, Any, list[dict[str, Any]]]:
        """Make them; the observation after an end is the first of the next episode."""
        rows = [self._step(place, action) for place, action in enumerate(self._actions)]
        observations, rewards, dones, infos = zip(*rows, strict=True)
        return np.stack(observations), np.array(rewards, np.float32), np.array(dones), list(infos)

    def _step(self, place: int, action: int) -> tuple[Vector, float, bool, dict[str, Any]]:
        env = self.envs[place]
        observation, reward, terminated, truncated, _ = env.step(action)
        self._returns[place] += reward
        self._lengths[place] += 1
        if not (terminated or truncated):
            return observation, reward, False, {}
        facts = {"r": self._returns[place], "l": self._lengths[place], "t": 0.0}
        self._returns[place] = self._lengths[place] = 0
        # The step limit is part of the task and the observation tells the steps that are left,
        # so an episode that reaches it is over like any other.
        return env.reset()[0], reward, True, {"episode": facts}

    def close(self) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each environment."""
        return [getattr(self.envs[place], attr_name) for place in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each environment."""
        for place in self._get_indices(indices):
            setattr(self.envs[place], attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of each environment."""
        methods = self.get_attr(method_name, indices)
        return [method(*args, **kwargs) for method in methods]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Say for each environment whether it is wrapped: none is."""
        return [False for _ in self._get_indices(indices)]
