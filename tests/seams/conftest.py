"""The client's end of a stream, and servers to talk to."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent / "proxy"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def wire() -> ModuleType:
    """Frames by hand: ``wire.Wire(wire.proxied())``."""
    return _load("wire")


@pytest.fixture(scope="session")
def shop() -> ModuleType:
    """A real HTTP server: ``shop.serving(shop.new())``."""
    pytest.importorskip("aiohttp", reason="the HTTP relay needs bench2robust[proxy]")
    tools, module = _load("tool_server"), _load("http_server")
    module.new = lambda: module.Shop(tools.Server())  # type: ignore[attr-defined]
    return module
