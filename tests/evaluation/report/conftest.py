"""Runs to report on: a real one, and ones made of records written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.evaluation import EvalConfig, make_job, run
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.store import Store

BASE = {
    "schema": 2, "agent": "a", "mode": "inject", "task": "t", "seed": 0, "intent": "plain",
    "flags": [], "scenario": "S1", "realized": None, "blocked": [], "classes": [], "side": "",
    "status": "ok", "reason": "", "success": True, "state": True, "communicated": True,
    "matched": 1, "required": 1, "reward": 1.0, "steps": 4, "calls": 2, "ended": "user",
    "transferred": False, "gold_transfer": False, "viable_unused": False, "abstained": False,
    "claims_success": False, "duplicate_attempts": 0, "duplicate_effects": 0,
    "looked_first": 0, "faultable_calls": 1, "false_claims": False, "rate_limit_violations": 0,
    "sim_seconds": 9.0, "tokens": None, "cost": None, "faults": [], "events": [],
}  # fmt: skip


@pytest.fixture(scope="session")
def record() -> Callable[..., Any]:
    """A function that returns a record with some fields changed."""
    return lambda **fields: {**BASE, **fields}


@pytest.fixture(scope="session")
def fault() -> Callable[..., Any]:
    """A function that returns a row of the ledger with some fields changed."""
    base = {
        "step": 0, "tool": "get", "nth": 0, "planned": "timeout", "delivered": "timeout",
        "seen": True, "executed": True, "committed": False, "changes": [], "wrong": 0, "adopted": 0,
        "reaction": "retry", "latency": 0.0, "retry_after": None,
    }  # fmt: skip
    return lambda **fields: {**base, **fields}


def write_run(folder: Path, records: list[Any], suite: str = "s", **config: Any) -> Path:
    manifest = make_manifest("eval", {"domain": "desk", **config}, "hash", suite, ())
    with claim_folder(folder, manifest), Store(folder) as store:
        for each in records:
            store.append(each, 0.0)
    return folder


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Path]:
    """A function that writes records into a run folder."""
    return write_run


@pytest.fixture(scope="session")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents on twelve retail tasks in all modes, with transcripts."""
    config = EvalConfig.read(
        {
            "agents": ["scripted:naive", "scripted:retry_switch"],
            "modes": ["clean", "inject", "inject_alt", "s3"],
            "tasks": 12,
            "seeds": 2,
            "transcripts": True,
            "out": str(tmp_path_factory.mktemp("runs") / "real"),
        }
    )
    return run(make_job(config, get_domain("retail"))).folder
