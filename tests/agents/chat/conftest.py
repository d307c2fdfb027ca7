"""The misbehaving server, and a way to run episodes against it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

pytest.importorskip("aiohttp", reason="chat models need bench2robust[chat]")

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import RunResult, make_job, run

SCRIPT = Path(__file__).with_name("misbehaving.py")
QUICK = {"timeout": 1.0, "backoff": 0.01}


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("misbehaving", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["misbehaving"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """The module of the server: ``fake.Server(...)``."""
    return _load()


class Play(Protocol):
    """Runs an evaluation."""

    def __call__(self, out: Path, url: str, **settings: Any) -> RunResult: ...


@pytest.fixture(scope="session")
def play() -> Play:
    """A function that evaluates ``chat:plan`` at a URL on a few tasks."""

    def go(out: Path, url: str, **settings: Any) -> RunResult:
        chat = {"base_url": url, **QUICK, **settings.pop("chat", {})}
        base = {
            "agents": "chat:plan",
            "modes": "clean,inject",
            "seeds": 1,
            "tasks": 8,
            "concurrency": 4,
            "out": str(out),
        }
        values = {**base, "chat": chat, **settings}
        return run(make_job(EvalConfig.read(values), get_domain("retail")))

    return go
