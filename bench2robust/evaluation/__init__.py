"""Evaluation: runs of many episodes, their records, and figures over them."""

from __future__ import annotations

from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.record import EpisodeRecord, FaultRow, record_key
from bench2robust.evaluation.runner import Job, RunResult, make_job, run
from bench2robust.evaluation.store import read_records

__all__ = [
    "EpisodeRecord",
    "EvalConfig",
    "FaultRow",
    "Job",
    "RunResult",
    "make_job",
    "read_manifest",
    "read_records",
    "record_key",
    "run",
]
