"""The gate before reinforcement: what a policy never does cannot be rewarded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.metrics import Rate, rate
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.training.config import TrainSettings
from bench2robust.training.examine import faced, passed

__all__ = ["GateError", "Readiness", "check_gate", "is_ready", "readiness"]


class GateError(UsageError):
    """The warm-started policy is not fit for reinforcement learning."""


class Readiness(NamedTuple):
    """What a policy brings along.

    Attributes:
        clean: how many clean tasks it passes.
        attempts: after how many first failures of an episode it tries again or another way.
    """

    clean: Rate
    attempts: Rate


def readiness(records: Sequence[EpisodeRecord]) -> Readiness:
    """Return the readiness that the records of an examination show."""
    clean = [r for r in records if r["mode"] == "clean" and r["status"] == "ok"]
    failed = [r for r in records if r["scenario"] in ("S1", "S2") and faced(r) and r["faults"]]
    return Readiness(rate(clean, passed), rate(failed, _tries))


def _tries(record: EpisodeRecord) -> bool:
    first = next(row for row in record["faults"] if row["delivered"] is not None)
    return first["reaction"] in ("retry", "switch")


def is_ready(settings: TrainSettings, found: Readiness) -> bool:
    """Say whether a policy may be trained with rewards."""
    try:
        check_gate(settings, found)
    except GateError:
        return False
    return True


def check_gate(settings: TrainSettings, found: Readiness) -> None:
    """Refuse to train what has nothing to build on.

    Raises:
        GateError: the policy is below ``sft.gate_clean`` or ``sft.gate_attempts``.
    """
    sft = settings.sft
    for what, rate_, least, name in (
        ("passes {} of clean validation tasks", found.clean, sft.gate_clean, "gate_clean"),
        (
            "tries to recover after {} of failures",
            found.attempts,
            sft.gate_attempts,
            "gate_attempts",
        ),
    ):
        if least and not rate_.share >= least:  # nothing to count is not enough either
            share = f"{rate_.share:.3f} ({rate_.hits} of {rate_.total})" if rate_.total else "none"
            raise GateError(
                f"After the warm start the policy {what.format(share)}; sft.{name} asks for "
                f"{least:g}. Reward strengthens only what a policy sometimes does: give it more "
                "steps (sft.steps) or demonstrations with more recovery (sft.words.recovery)."
            )
