"""Estimates of memory and time, to catch a plan that cannot work before a node is spent on it.

Rules of thumb with their assumptions in the open; measured figures replace them once a run is on
its way.
"""

from __future__ import annotations

from typing import NamedTuple

from bench2robust.training.arithmetic import Arithmetic
from bench2robust.training.config import TrainSettings
from bench2robust.training.shapes import Shape

__all__ = ["ASSUMPTIONS", "MemoryEstimate", "TimeEstimate", "estimate_memory", "estimate_time"]

GIB = 1024**3
TURNS = 12
"""Actions of an episode (table 15: 11.9 clean, 12 to 13 under faults)."""
TURN_TOKENS = 600
"""Tokens that a thinking model writes in a turn."""
RESULT_TOKENS = 250
"""Tokens that come back after it."""
UTILISATION = 0.35
"""Of the accelerator's best, in forward and backward passes."""
BANDWIDTH_SHARE = 0.6
"""Of the memory's best, while tokens are generated."""
USER_SECONDS = 2.0
"""A reply of a user that is a model."""
MESSAGES = 4
"""Replies of the user in an episode."""
RESERVE = 2.0
"""GiB that libraries and fragments take on each device."""

ASSUMPTIONS = (
    f"{TURNS} turns of {TURN_TOKENS} tokens and results of {RESULT_TOKENS}; "
    f"{UTILISATION:.0%} of peak arithmetic, {BANDWIDTH_SHARE:.0%} of peak memory bandwidth"
)


class MemoryEstimate(NamedTuple):
    """GiB on each device.

    Attributes:
        weights: of the policy, and of the reference where the KL term needs a copy.
        training: gradients and optimizer state.
        activations: of one backward pass over sequences as long as the context.
        rollout: what vLLM takes.
        reserve: libraries and fragments.
    """

    weights: float
    training: float
    activations: float
    rollout: float
    reserve: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self)


def estimate_memory(settings: TrainSettings, shape: Shape) -> MemoryEstimate:
    """Return what each device has to hold.

    Weights, gradients and the float32 state of AdamW are spread over the ranks (FSDP); adapters
    leave the base weights whole on each device and without gradients.
    """
    model, ranks = settings.model, settings.hardware.ranks
    width = 4 if model.dtype == "float32" else 2
    if model.lora:
        trained = shape.layers * model.lora.rank * shape.linear_widths
        weights = width * shape.parameters
        training = (width + 12) * trained
    else:
        copies = 2 if settings.optim.kl and settings.method != "sft" else 1
        weights = copies * width * shape.parameters // ranks
        training = (width + 12) * shape.parameters // ranks
    colocated = settings.rollout.engine == "vllm" and settings.method != "sft"
    rollout = settings.rollout.vllm_memory * settings.hardware.memory if colocated else 0.0
    return MemoryEstimate(
        weights / GIB, training / GIB, _activations(settings, shape) / GIB, rollout, RESERVE
    )


def _activations(settings: TrainSettings, shape: Shape) -> float:
    tokens = settings.optim.micro_batch * settings.rollout.context
    per_layer = 2 * shape.hidden * (1 if settings.model.checkpointing else 17)
    logits = 4 * shape.vocabulary * min(tokens, _CHUNK)
    return tokens * shape.layers * per_layer + 2 * logits


_CHUNK = 4096
"""Tokens whose logits are alive at a time."""


class TimeEstimate(NamedTuple):
    """Seconds of one iteration, and hours of the run."""

    rollout: float
    users: float
    update: float
    hours: float

    @property
    def iteration(self) -> float:
        """Seconds of one iteration."""
        return self.rollout + self.users + self.update


def estimate_time(settings: TrainSettings, shape: Shape, batch: Arithmetic) -> TimeEstimate:
    """Return how long an iteration and the run take.

    While tokens are generated, each reads the weights and the keys and values of every episode on
    the device from memory once. Users that are models answer side by side, except where tokens are
    decoded in step. An update costs 6 operations per weight and token, 2 more for the
    reference and 2 for recomputed activations.
    """
    hardware = settings.hardware
    length = TURNS * (TURN_TOKENS + RESULT_TOKENS)
    cache = batch.per_rank * shape.cache_per_token * length / 2
    read = (2 * shape.parameters + cache) / (hardware.bandwidth * 1e9 * BANDWIDTH_SHARE)
    rollout = TURNS * TURN_TOKENS * read
    side_by_side = settings.rollout.engine == "vllm"
    waits = MESSAGES * (1 if side_by_side else batch.per_rank)
    users = waits * USER_SECONDS if settings.episodes.user != "scripted" else 0.0
    operations = 6 + 2 * bool(settings.optim.kl) + 2 * settings.model.checkpointing
    flops = operations * shape.parameters * length * batch.per_rank
    update = flops / (hardware.teraflops * 1e12 * UTILISATION)
    return TimeEstimate(
        rollout, users, update, batch.iterations * (rollout + users + update) / 3600
    )
