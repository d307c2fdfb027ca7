"""The AppWorld client against the real server, on a small world of our own.

``BENCH2ROBUST_APPWORLD`` names the Python of an environment with ``appworld`` (after
``appworld install``); the benchmark's own tasks are not needed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain
from bench2robust.domains.appworld import AppWorldDomain, load_appworld
from bench2robust.domains.appworld.server import Server
from bench2robust.domains.conformance import CLAUSES
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Sample
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records

WORLD = Path(__file__).with_name("appworld_world.py")
START_SECONDS = 120


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small world, made by AppWorld's own classes."""
    python = os.environ.get("BENCH2ROBUST_APPWORLD")
    if not python:
        pytest.skip("BENCH2ROBUST_APPWORLD does not name the Python of AppWorld's environment")
    folder = tmp_path_factory.mktemp("appworld")
    (folder / "data").mkdir()
    subprocess.run([python, WORLD], cwd=folder, env=_environment(), check=True, timeout=600)
    return folder


@pytest.fixture(scope="module")
def settings(root: Path) -> Iterator[Path]:
    """The settings file of a running server on that world."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(os.environ["BENCH2ROBUST_APPWORLD"]).with_name("appworld")
    command = [program, "serve", "environment", "--port", str(port)]
    with (root / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=root, env=_environment(), stdout=log, stderr=log,
                                  start_new_session=True)  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, server)
        file = root / "appworld.yaml"
        file.write_text(f"url: {url}\nroot: {root}\napps: [supervisor, simple_note]\n")
        yield file
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return {**kept, "APPWORLD_ROOT": "."}


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(START_SECONDS * 2):
        assert server.poll() is None, "the server ended"
        with suppress(InfrastructureError):
            Server(url, 5).get("/")
            return
        time.sleep(0.5)
    pytest.fail(f"the server did not start within {START_SECONDS} s")


@pytest.fixture(scope="module")
def domain(settings: Path) -> AppWorldDomain:
    """The domain of the small world."""
    return load_appworld(str(settings))


def test_every_api_of_the_documentation_is_a_tool(domain: AppWorldDomain, settings: Path) -> None:
    every = settings.with_name("all.yaml")
    every.write_text(settings.read_text().replace("apps: [supervisor, simple_note]\n", ""))
    tools = load_appworld(str(every)).tools()
    assert len(tools) == 457 + 1 and len({spec.name for spec in tools}) == 458
    assert len(domain.tools()) < 30


# The hostile clause makes eleven thousand calls, each over HTTP: some of them are made below.
@pytest.mark.parametrize("name", [name for name in CLAUSES if name != "hostile"])
def test_the_client_keeps_the_clauses_on_the_real_server(domain: AppWorldDomain, name: str) -> None:
    check = Check()
    CLAUSES[name](Sample(domain, 2), check)
    assert check.breaches == []


def test_hostile_texts_are_data_to_the_real_server(domain: AppWorldDomain, root: Path) -> None:
    session = domain.session(domain.task("copy0_1"))
    mark = root / "code-was-run"
    texts = (f"open({str(mark)!r}, 'w')", f"')); open({str(mark)!r}, 'w'); print(('", "\x00", "é\n")
    for text in texts:
        for name in ("simple_note__login", "supervisor__complete_task"):
            spec = next(s for s in domain.tools() if s.name == name)
            arguments = dict.fromkeys(spec.parameters["properties"], text)
            assert session.call(ToolCall(name, arguments)).is_error
    assert not mark.exists()
    assert not session.call(ToolCall("supervisor__show_profile", {})).is_error


def test_scripted_agents_play_the_real_server(settings: Path, tmp_path: Path) -> None:
    values = {
        "domain": "appworld",
        "data": str(settings),
        "agents": "scripted:naive,scripted:retry",
        "modes": "clean,inject",
        "tasks": "test",
        "seeds": 2,
        "out": str(tmp_path / "run"),
    }
    config = EvalConfig.read(values)
    result = run(make_job(config, get_domain("appworld", config.data)))
    records = list(read_records(result.folder))
    assert {r["status"] for r in records} == {"ok"} and len(records) == 8
    passed = Counter((r["agent"], r["mode"]) for r in records if r["success"])
    assert passed["scripted:naive", "clean"] == passed["scripted:retry", "clean"] == 2
    assert passed["scripted:naive", "inject"] <= passed["scripted:retry", "inject"]
