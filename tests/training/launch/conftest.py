from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bench2robust.training.config import TrainSettings, load_settings

CONFIGS = Path(__file__).parents[3] / "configs" / "train"


@pytest.fixture
def paper() -> Callable[..., TrainSettings]:
    """The paper's configuration in the run folder ``/scratch/demo``, with some settings over it."""

    def make(*settings: str) -> TrainSettings:
        return load_settings(CONFIGS / "qwen3_4b_paper.yaml", ["out=/scratch/demo", *settings])

    return make


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put shell scripts of given names first on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def add(name: str, text: str) -> None:
        path = folder / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return add
