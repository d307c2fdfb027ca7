"""A run of several agents, modes and arms, with transcripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.seams.export.source import RunSource


def evaluation(folder: Path, **changes: Any) -> Path:
    """Run an evaluation and return its folder."""
    values = {
        "agents": ["scripted:naive", "scripted:retry_switch"],
        "modes": ["clean", "inject", "inject_alt", "s3"],
        "data": "builtin:small",
        "seeds": 2,
        "tasks": "train:6",
        "transcripts": True,
        "out": str(folder),
        **changes,
    }
    config = EvalConfig.read(values)
    run(make_job(config, get_domain("retail", config.data)))
    return folder


@pytest.fixture(name="evaluation", scope="session")
def _evaluation() -> Callable[..., Path]:
    """The function above, for tests to call."""
    return evaluation


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run; one half of its arms has a memory block and a monitor."""
    home = tmp_path_factory.mktemp("exported") / "run"
    return evaluation(home, memory=["none", "full"], monitor=["auto"])


@pytest.fixture
def source(folder: Path) -> RunSource:
    return RunSource(folder)
