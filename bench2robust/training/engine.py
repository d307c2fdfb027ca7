"""The engines that decode rollouts; the trainer and the evaluation of checkpoints share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import nn

from bench2robust.core.keyed import uniform
from bench2robust.training.lockstep import lockstep
from bench2robust.training.rollout import Rollout

__all__ = ["Engine", "LockstepEngine"]

Key = tuple[str | int, ...]


class Engine(Protocol):
    """Decodes rollouts until all are done."""

    def play(self, model: nn.Module, rollouts: Sequence[Rollout], keys: Sequence[Key]) -> float:
        """Decode, and return the seconds that the model took.

        Each sample depends on its rollout's key and its position, and on nothing else.
        """


class LockstepEngine:
    """Decodes with the model at hand, token by token.

    Args:
        temperature: 0 takes the likeliest token.
        batch: most episodes at a time.
    """

    def __init__(self, temperature: float, batch: int = 128) -> None:
        self._temperature = temperature
        self._batch = batch

    def play(self, model: nn.Module, rollouts: Sequence[Rollout], keys: Sequence[Key]) -> float:
        """Decode the rollouts, one batch after the other."""
        seconds = 0.0
        bare = getattr(model, "module", model)  # what distributed training wraps
        training = bare.training
        bare.eval()
        try:
            for start in range(0, len(rollouts), self._batch):
                part = slice(start, start + self._batch)
                chosen = keys[part]
                seconds += lockstep(
                    bare,
                    rollouts[part],
                    lambda place, position: uniform(*chosen[place], position),  # noqa: B023
                    self._temperature,
                )
        finally:
            bare.train(training)
        return seconds


def on_device() -> torch.device:
    """Return where models live here."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
