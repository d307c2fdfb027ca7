"""The engines that decode rollouts; the trainer and the evaluation of checkpoints share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import nn

from bench2robust.core.keyed import uniform
from bench2robust.training.lockstep import lockstep
from bench2robust.training.rollout import Rollout
from bench2robust.training.shapes import Shape, shape_of

__all__ = ["Engine", "LockstepEngine", "TurnEngine", "colocated", "on_device", "rows_that_fit"]

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
        batch: most episodes at a time; fewer where an accelerator has no memory for as many.
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
            most = min(self._batch, _fitting(bare, rollouts))
            for start in range(0, len(rollouts), most):
                part = slice(start, start + most)
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


_CACHE_SHARE = 0.4
"""What keys and values may take of free memory: a cache that grows is copied, so there are two."""


def _fitting(model: Any, rollouts: Sequence[Rollout]) -> int:
    """Return how many episodes, each as long as its context, fit beside all else on the device."""
    if not rollouts or model.device.type != "cuda":
        return max(1, len(rollouts))
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(model.device)
    context = max(rollout.budgets.context for rollout in rollouts)
    return rows_that_fit(shape_of(model.config.to_dict()), model.dtype.itemsize, context, free)


def rows_that_fit(shape: Shape, width: int, context: int, free: int) -> int:
    """Return how many caches of a model fit into a share of the free memory; at least one.

    Args:
        width: bytes of a number.
        context: tokens of each cache.
        free: bytes.
    """
    row = shape.cache_per_token * width / 2 * context
    return max(1, int(_CACHE_SHARE * free / row))


Turns = tuple[Sequence[Sequence[int]], Sequence[Sequence[float]]]
"""The tokens of one turn for each context, and their log-probabilities."""


class TurnEngine:
    """Decodes turn by turn with an engine of its own, such as vLLM.

    The rollouts that still run go in together, each with all its tokens; engines keep what they
    have read of a context. Users that are models answer all of them side by side. What such an
    engine samples is its own affair: keys play no part.

    Attributes:
        generate: from contexts to one turn each; it must be set before the first rollout.
    """

    generate: Callable[[list[list[int]]], Turns]

    def play(self, model: nn.Module, rollouts: Sequence[Rollout], keys: Sequence[Key]) -> float:
        """Decode until every rollout is done."""
        seconds = 0.0
        while live := [rollout for rollout in rollouts if not rollout.done]:
            began = perf_counter()
            turns, logprobs = self.generate([rollout.tokens for rollout in live])
            seconds += perf_counter() - began
            for rollout, turn, scores in zip(live, turns, logprobs, strict=True):
                for token, logprob in zip(turn, scores, strict=True):
                    if not rollout.done:
                        rollout.take(token, logprob)
            for rollout in live:
                rollout.settle()
        return seconds


def colocated(trainer: Any) -> Callable[[list[list[int]]], Turns]:
    """Return the generation of TRL's vLLM in the training processes.

    Each process has an engine of its own (one device, no sleep mode), so processes whose episodes
    take more turns than others' wait for nobody.
    """

    def generate(contexts: list[list[int]]) -> Turns:
        _, turns, logprobs, _ = trainer.vllm_generation.generate(contexts, None, 1)
        return turns, [[float(token[0]) for token in turn] for turn in logprobs]

    return generate


def on_device() -> torch.device:
    """Return where models live here."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
