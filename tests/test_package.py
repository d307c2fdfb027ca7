"""What holds for the package as a whole: light import, typing, links, layers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bench2robust

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bench2robust.__file__).parent
HEAVY = ("httpx", "openai", "pydantic", "rich", "scipy", "torch", "transformers", "typer")
LAYERS = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"


def _python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # PYTHONPATH leads: a copy of the package in cwd must win over the installed one.
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_is_light() -> None:
    code = "import json, sys, bench2robust; print(json.dumps(list(sys.modules)))"
    done = _python(code, ROOT)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert loaded.isdisjoint(HEAVY), sorted(loaded.intersection(HEAVY))


def test_the_command_line_needs_no_extra() -> None:
    code = "import json, sys, bench2robust.cli.app; print(json.dumps(list(sys.modules)))"
    done = _python(code, ROOT)
    assert done.returncode == 0, done.stderr
    extras = {"aiohttp", "datasets", "ray", "stable_baselines3", "submitit", "torch", "trl"}
    assert extras.isdisjoint(json.loads(done.stdout))


def test_type_information_is_shipped() -> None:
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("name", ["envs", "injectors", "training", "curricula"])
def test_link_at_the_top_leads_into_the_package(name: str) -> None:
    link = ROOT / name
    assert link.is_symlink()
    assert link.resolve() == ROOT / "bench2robust" / name
    assert (link / "__init__.py").is_file()


def test_imports_point_down() -> None:
    done = _python(LAYERS, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("answer", ["injectors", "domains", "evaluation"])
def test_monitors_that_know_the_answer_are_refused(answer: str, tmp_path: Path) -> None:
    """The paper's non-oracle boundary: the layers hold it even for a module not yet written."""
    copy = tmp_path / "bench2robust"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monitors = copy / "monitors"
    monitors.mkdir(exist_ok=True)
    (monitors / "__init__.py").touch()
    (monitors / "peek.py").write_text(f"import bench2robust.{answer}\n", encoding="utf-8")
    done = _python(LAYERS, tmp_path)
    assert done.returncode != 0
    assert f"bench2robust.monitors.peek -> bench2robust.{answer}" in done.stdout
