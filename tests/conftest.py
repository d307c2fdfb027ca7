"""Where foreign data are: the folder that ``BENCH2ROBUST_DATA`` names, if it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def _folder(name: str) -> Path:
    root = os.environ.get("BENCH2ROBUST_DATA")
    if not root:
        pytest.skip("BENCH2ROBUST_DATA does not name a folder with the public benchmark data")
    folder = Path(root) / name
    assert folder.is_dir(), f"BENCH2ROBUST_DATA is set, but {folder} is not there"
    return folder


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the public benchmark data."""
    return _folder(".")


@pytest.fixture(scope="session")
def tau2_retail() -> Path:
    """The retail folder of τ²-bench."""
    return _folder("tau2/retail")


@pytest.fixture(scope="session")
def tau1_retail() -> Path:
    """The retail folder of τ-bench v1."""
    return _folder("tau1/retail")
