"""Real third-party servers, where they are installed, and the official client."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("mcp", reason="the official client of MCP is not installed")

HERE = Path(__file__).parent
PYPI = ("mcp-server-time", "mcp-server-git")


@pytest.fixture(scope="session")
def play() -> ModuleType:
    """What the official client does with a server: ``play.course``."""
    for name in ("tapping", "playing"):
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module


def npm(name: str) -> str:
    """Return a server of the npm packages that ``BENCH2ROBUST_MCP_NPM`` holds."""
    folder = os.environ.get("BENCH2ROBUST_MCP_NPM")
    if not folder:
        pytest.skip("BENCH2ROBUST_MCP_NPM does not name a folder with the npm servers")
    path = Path(folder) / "node_modules" / ".bin" / name
    assert path.exists(), f"BENCH2ROBUST_MCP_NPM is set, but {path} is not there"
    return str(path)


def pypi(name: str) -> str:
    """Return a server that is installed beside this Python."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


@pytest.fixture(scope="session")
def server() -> Callable[[str], str]:
    """A function that finds a server, or skips the test."""
    return lambda name: pypi(name) if name in PYPI else npm(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of small files, which a server may serve."""
    made = tmp_path / "files"
    (made / "sub").mkdir(parents=True)
    for number in range(60):
        lines = (f"line {n} of note {number}\n" for n in range(number % 7 + 2))
        (made / f"note{number}.txt").write_text("".join(lines))
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with some history."""
    from subprocess import run

    made = tmp_path / "repository"
    made.mkdir()

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        run(["git", *identity, *arguments], cwd=made, check=True, capture_output=True)

    git("init", "-q")
    for number in range(5):
        (made / f"file{number}.txt").write_text(f"{number}\n" * (number + 1))
        git("add", ".")
        git("commit", "-qm", f"Add file {number}")
    return made
