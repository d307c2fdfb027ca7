"""Decoding many episodes in step, token by token, with one dense cache and no padding.

Every episode starts at position 0. At each position an episode either knows its next token (of its
prompt, or of an observation) or samples it. So there is nothing to pad and nothing to recompute,
and an episode that ends leaves the batch. One that waits for a user that is a model holds up all
others, because it could not catch up without padding; only those that come to their users at the
same position wait together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import torch
from transformers import DynamicCache

from bench2robust.training.rollout import Rollout

__all__ = ["Draw", "lockstep"]

Draw = Callable[[int, int], float]
"""From a rollout's place in the batch and a position to a number in [0, 1)."""

_ALIVE = 0.75
"""The cache is cut down to the running episodes when fewer than this share of its rows runs."""


@torch.inference_mode()
def lockstep(
    model: Any, rollouts: Sequence[Rollout], draw: Draw, temperature: float = 1.0
) -> float:
    """Decode until every rollout is done; return the seconds that the model took.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        draw: decides each sampled token, so that a sample depends on its key and on nothing else.
        temperature: 0 takes the likeliest token.
    """
    rows = [place for place, rollout in enumerate(rollouts) if not rollout.done]
    if not rows:
        return 0.0
    seconds = 0.0
    position = min(len(rollouts[place].tokens) for place in rows)
    fed = [rollouts[place].tokens[:position] for place in rows]
    cache = DynamicCache(config=model.config)
    while True:
        began = perf_counter()
        ids = torch.tensor(fed, device=model.device)
        logits: Any = model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits
        last = logits[:, -1].float().cpu()
        seconds += perf_counter() - began
        _advance(rollouts, rows, position, last, draw, temperature)
        alive = [row for row, place in enumerate(rows) if not rollouts[place].done]
        if not alive:
            return seconds
        if len(alive) < _ALIVE * len(rows):
            cache.batch_select_indices(torch.tensor(alive, device=model.device))
            rows = [rows[row] for row in alive]
        fed = [[_at(rollouts[place], position)] for place in rows]
        position += 1


def _at(rollout: Rollout, position: int) -> int:
    """Return a token; an episode that is over repeats its last, which nobody reads."""
    return rollout.tokens[min(position, len(rollout.tokens) - 1)]


def _advance(
    rollouts: Sequence[Rollout],
    rows: Sequence[int],
    position: int,
    logits: torch.Tensor,
    draw: Draw,
    temperature: float,
) -> None:
    """Let the rollouts that know no token at ``position`` sample it."""
    open_ = [
        (row, place)
        for row, place in enumerate(rows)
        if not rollouts[place].done and len(rollouts[place].tokens) == position
    ]
    if not open_:
        return
    wanted = logits[[row for row, _ in open_]]
    if temperature == 0:
        tokens = wanted.argmax(-1)
    else:
        points = torch.tensor([[draw(place, position)] for _, place in open_], device=logits.device)
        tokens = pick(wanted / temperature, points)
    for (_, place), token in zip(open_, tokens.tolist(), strict=True):
        rollouts[place].take(token)
    for _, place in open_:
        rollouts[place].settle()


def pick(logits: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return the token at each point of the cumulative distribution.

    Args:
        logits: (rows, vocabulary).
        points: (rows, 1), in [0, 1).

    Returns:
        (rows,) token ids.
    """
    sums = logits.softmax(-1).double().cumsum(-1)
    found = torch.searchsorted(sums, points.double() * sums[:, -1:], right=True)
    return found.squeeze(-1).clamp(max=logits.size(-1) - 1)
