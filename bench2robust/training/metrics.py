"""The figures of one training iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bench2robust.core.reward import repetition
from bench2robust.core.types import ToolCall
from bench2robust.curricula import PhaseState
from bench2robust.evaluation.metrics import premature
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.training.campaign import Score

__all__ = ["iteration_metrics"]


def iteration_metrics(phase: PhaseState, scores: Sequence[Score], kept: float) -> dict[str, float]:
    """Return what an iteration brought, by the name it is logged under.

    Args:
        phase: where the curriculum stood.
        scores: of every member on every rank.
        kept: the share of scored members that the group filter left in the loss.
    """
    scored = [score for score in scores if score.reward is not None]
    clean = [s for s in scored if s.record["scenario"] is None]
    injected = [s for s in scored if s.record["scenario"] is not None]
    found = {
        "phase": float(phase.index),
        "reward/mean": _average([score.reward or 0.0 for score in scored]),
        "groups/filtered": 1.0 - kept,
        "infra/masked": 1.0 - len(scored) / len(scores),
        "pass/clean": _mean(clean, lambda r: r["success"]),
        "pass/injected": _mean(injected, lambda r: r["success"]),
        "abstained": _mean(
            [s for s in scored if s.record["scenario"] == "S3"], lambda r: r["abstained"]
        ),
        "premature": _mean([s for s in injected if s.record["scenario"] != "S3"], premature),
        "truncated": _average([float(s.cut != "") for s in scored]),
        "repeated": _mean(scored, _repeated),
        "turns": _mean(scored, lambda r: r["steps"]),
        "transferred": _mean(scored, lambda r: r["transferred"]),
        "false_claims": _mean(scored, lambda r: r["false_claims"]),
        **_reactions(injected),
    }
    for name in ("S1", "S2", "S3"):
        part = [s for s in scored if s.record["scenario"] == name]
        found[f"reward/{name}"] = _average([s.reward or 0.0 for s in part])
        if name != "S3":
            found[f"pass/{name}"] = _mean(part, lambda r: r["success"])
    return found


def _repeated(record: EpisodeRecord) -> bool:
    """Say whether some call was made three times or more, failed ones included (table 12)."""
    calls = (ToolCall(e["call"], e["args"]) for e in record["events"] if "call" in e)
    return repetition(calls) < 1.0


def _reactions(scores: Sequence[Score]) -> dict[str, float]:
    """Return how often a delivered fault was met with each reaction."""
    rows = [row for s in scores for row in s.record["faults"] if row["delivered"] is not None]
    kinds = ("retry", "switch", "verify", "other", "none")
    return {f"reaction/{k}": _average([float(r["reaction"] == k) for r in rows]) for k in kinds}


def _mean(scores: Iterable[Score], of: Callable[[EpisodeRecord], float]) -> float:
    return _average([float(of(score.record)) for score in scores])


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
