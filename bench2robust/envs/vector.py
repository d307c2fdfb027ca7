"""Many episodes in one process, without threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, Protocol, SupportsFloat, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from bench2robust.core.errors import UsageError, shown
from bench2robust.envs.recovery import RetailRecoveryEnv
from bench2robust.envs.retail import RetailEnv
from bench2robust.envs.setup import NotCopied, check_choice, check_options

__all__ = ["BatchEnv", "batch_of", "recovery_batch", "retail_batch"]

Array: TypeAlias = NDArray[Any]
Info: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[Any, Array, Array, Array, Info]


class BatchEnv(NotCopied, VectorEnv[Any, Any, Array]):
    """Steps ``num_envs`` copies of an environment one after another.

    Returns what ``gymnasium.vector.SyncVectorEnv`` returns, with less copying: observations are
    gathered into fresh arrays, and infos key by key.

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
        whole = isinstance(num_envs, Integral) and not isinstance(num_envs, bool)
        if not whole or num_envs < 1:
            raise UsageError(
                f"num_envs must be a whole number of at least 1, not {shown(num_envs)}"
            )
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
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
        self._done = [False] * num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Info]:
        """Start every episode, or those of ``options["reset_mask"]``.

        Args:
            seed: one seed an environment, or a number that gives ``seed, seed + 1, …``.
            options: passed to each environment, but for ``reset_mask``.
        """
        options = dict(check_options(options))
        mask = self._mask(options.pop("reset_mask", None))
        infos: list[Info] = [{}] * self.num_envs
        for i, one in enumerate(self._seeds(seed)):
            if mask[i]:
                self._last[i], infos[i] = self.envs[i].reset(seed=one, options=options)
                self._done[i] = False
        return self._gather(), _merge(infos)

    def _mask(self, mask: Any) -> Array:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if np.shape(mask) != (self.num_envs,) or np.asarray(mask).dtype != np.bool_:
            raise UsageError(
                f"reset_mask must have {self.num_envs} elements, True or False for each "
                f"environment, not {shown(mask)}"
            )
        fresh = [i for i, last in enumerate(self._last) if last is None and not mask[i]]
        if fresh:
            raise UsageError(
                f"reset_mask leaves out environments that were never reset ({shown(fresh)}): "
                f"call reset() without it first"
            )
        return np.asarray(mask)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return range(seed, seed + self.num_envs)
        if not isinstance(seed, Sequence) or not all(isinstance(s, int | None) for s in seed):
            raise UsageError(
                f"seed must be an int, or a sequence of one int (or None) an environment, "
                f"not {shown(seed)}"
            )
        if len(seed) != self.num_envs:
            raise UsageError(
                f"{len(seed)} seeds were given for {self.num_envs} environments: give one for "
                "each, or one whole number for all"
            )
        return seed

    def step(self, actions: Any) -> Step:
        """Take one action in each episode; a finished one is treated as the autoreset mode says."""
        if self.mode is AutoresetMode.DISABLED and any(self._done):
            raise UsageError("some episodes have ended: reset them with options={'reset_mask': …}")
        rewards: list[SupportsFloat] = [0.0] * self.num_envs
        terminated = [False] * self.num_envs
        truncated = [False] * self.num_envs
        infos: list[Info] = [{}] * self.num_envs
        each = self._each(actions)
        for i, (env, action) in enumerate(zip(self.envs, each, strict=True)):
            if self._done[i] and self.mode is AutoresetMode.NEXT_STEP:
                self._last[i], infos[i] = env.reset()
                continue
            self._last[i], rewards[i], terminated[i], truncated[i], infos[i] = env.step(action)
            if self.mode is AutoresetMode.SAME_STEP and (terminated[i] or truncated[i]):
                final = {"final_obs": self._last[i], "final_info": infos[i]}
                self._last[i], info = env.reset()
                infos[i] = {**info, **final}
        self._done = [a or b for a, b in zip(terminated, truncated, strict=True)]
        ends = np.array(terminated), np.array(truncated)
        return self._gather(), np.array(rewards, dtype=np.float64), *ends, _merge(infos)

    def _each(self, actions: Any) -> list[Any]:
        """Return the actions one by one, before any is taken, so that no batch is half stepped."""
        try:
            each = [] if isinstance(actions, str) else list(iterate(self.action_space, actions))
        except (TypeError, gym.error.CustomSpaceError):
            each = []
        if len(each) != self.num_envs:
            raise UsageError(
                f"actions must hold {self.num_envs} actions, one an environment, "
                f"not {shown(actions)}"
            )
        return each

    def _gather(self) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, self.num_envs, np.empty)
        return concatenate(self.single_observation_space, self._last, empty)

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close each environment."""
        for env in self.envs:
            env.close()


def _merge(infos: Sequence[Info]) -> Info:
    """Return the infos of the environments as Gymnasium batches them.

    Each key leads to an array over the environments, or for dictionaries to a merged one, and
    ``_key`` tells which environments have it.
    """
    merged: Info = {}
    for key in dict.fromkeys(chain.from_iterable(infos)):
        has = np.array([key in info for info in infos])
        values = [info[key] for info in infos if key in info]
        if key == "final_obs":
            merged[key] = _objects(has, values)
        elif isinstance(values[0], dict):
            merged[key] = _merge([info.get(key, {}) for info in infos])
        else:
            merged[key] = _column(has, values)
        merged[f"_{key}"] = has
    return merged


def _column(has: Array, values: Sequence[Any]) -> Array:
    first = values[0]
    if not isinstance(first, (bool, int, float, np.number, np.ndarray)):
        return _objects(has, values)
    dtype = first.dtype if isinstance(first, np.ndarray) else type(first)
    column = np.zeros((len(has), *np.shape(first)), dtype=dtype)
    column[has] = values
    return column


def _objects(has: Array, values: Sequence[Any]) -> Array:
    column = np.full(len(has), None, dtype=object)
    for index, value in zip(np.flatnonzero(has).tolist(), values, strict=True):
        column[index] = value  # one by one: NumPy would take a list for a row
    return column


class MakeBatch(Protocol):
    """Makes a batch; what Gymnasium calls for a vector environment of an id."""

    def __call__(
        self,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> BatchEnv:
        """Return a batch of environments, each made with ``kwargs``."""


def batch_of(env: type[gym.Env[Any, Any]]) -> MakeBatch:
    """Return what makes batches of a class of environments."""

    def make(
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> BatchEnv:
        return BatchEnv(partial(env, **kwargs), num_envs, autoreset_mode)

    return make


retail_batch = batch_of(RetailEnv)
recovery_batch = batch_of(RetailRecoveryEnv)
