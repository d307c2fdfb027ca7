"""The arithmetic of a batch: how prompts, rollouts, updates, ranks and micro-batches divide."""

from __future__ import annotations

from math import ceil, gcd
from typing import NamedTuple

from bench2robust.core.errors import UsageError
from bench2robust.training.config import TrainSettings

__all__ = ["Arithmetic", "batch_arithmetic"]


class Arithmetic(NamedTuple):
    """What one iteration holds, and how many there are.

    Attributes:
        tasks: that prompts are drawn from.
        rollouts: of an iteration: prompts times group size; the global batch.
        per_rank: of these, generated and trained on by each process.
        accumulation: backward passes of a process per optimizer step.
        updates: optimizer steps of an iteration.
        iterations: in all.
        episodes: in all.
    """

    tasks: int
    rollouts: int
    per_rank: int
    accumulation: int
    updates: int
    iterations: int
    episodes: int


def batch_arithmetic(settings: TrainSettings, tasks: int) -> Arithmetic:
    """Return the batch arithmetic of reinforcement learning on groups.

    Args:
        tasks: how many there are to train on.

    Raises:
        UsageError: something does not divide; the text names settings that do.
    """
    optim, ranks = settings.optim, settings.hardware.ranks
    rollouts = optim.prompts * settings.group.size
    unit = ranks * optim.micro_batch * optim.updates
    if rollouts % unit:
        raise UsageError(
            f"optim.prompts × group.size = {optim.prompts} × {settings.group.size} = {rollouts} "
            f"rollouts do not divide into {ranks} ranks × {optim.micro_batch} per backward pass "
            f"(optim.micro_batch) × {optim.updates} updates (optim.updates) = {unit}: "
            f"{_way_out(settings, unit)}."
        )
    if tasks < 1:
        raise UsageError("No task is left to train on: set episodes.validation lower.")
    iterations = optim.steps or ceil(tasks * optim.epochs / optim.prompts)
    return Arithmetic(
        tasks,
        rollouts,
        rollouts // ranks,
        rollouts // unit,
        optim.updates,
        iterations,
        iterations * rollouts,
    )


def _way_out(settings: TrainSettings, unit: int) -> str:
    """Name the nearest number of prompts, or else the group size, for which the batch divides."""
    size, prompts = settings.group.size, settings.optim.prompts
    step = unit // gcd(size, unit)  # the batch divides for its multiples
    below = prompts // step * step
    near = [n for n in (below, below + step) if n] or [step]
    smaller = [n for n in ("micro_batch", "updates") if getattr(settings.optim, n) > 1]
    lower = f", or lower optim.{' or optim.'.join(smaller)}" if smaller else ""
    return f"set optim.prompts to {' or '.join(map(str, near))}{lower}"
