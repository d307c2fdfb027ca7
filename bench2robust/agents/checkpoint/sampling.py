"""Sampling as a pure function of a request's key, one row of a batch apart from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bench2robust.core.keyed import uniform

if TYPE_CHECKING:
    import torch

__all__ = ["KeyedSampler", "Sampling"]


class Sampling(NamedTuple):
    """How messages are sampled.

    Attributes:
        temperature: 0 takes the likeliest token.
        max_new_tokens: most tokens of one message.
        seed: another seed, other draws.
    """

    temperature: float = 0.0
    max_new_tokens: int = 1024
    seed: int = 0


class KeyedSampler:
    """Takes a token for each row by inverting the cumulative distribution at a keyed number.

    It stands in transformers' generation as a processor of logits that leaves one token possible.
    A row's draw depends on its key and on how many tokens it has written; so what shares the batch
    changes a token only if it changes a probability by rounding, and the number lies just there.

    Args:
        keys: of the rows.
        start: tokens before the first that is sampled.
    """

    def __init__(
        self, sampling: Sampling, keys: Sequence[tuple[str | int, ...]], start: int
    ) -> None:
        self._temperature = sampling.temperature
        self._keys = [("sample", sampling.seed, *key) for key in keys]
        self._start = start

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return ``scores`` (rows, vocabulary) with all but the sampled token at minus infinity."""
        import torch

        step = input_ids.shape[1] - self._start
        draws = torch.tensor([[uniform(*key, step)] for key in self._keys], dtype=torch.float32)
        probabilities = torch.softmax(scores.float() / self._temperature, dim=-1)
        heights = probabilities.cumsum(dim=-1)
        total = heights[:, -1:]
        drawn = (heights <= draws.to(scores.device) * total).sum(dim=-1, keepdim=True)
        # A draw that rounds up to the total belongs to the last token that is possible at all.
        last = (heights < total).sum(dim=-1, keepdim=True)
        taken = torch.minimum(drawn, last)
        return torch.full_like(scores, -torch.inf).scatter_(-1, taken, 0.0)
