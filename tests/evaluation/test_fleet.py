"""Engine ray: the same bytes as one process, whatever becomes of its workers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import bench2robust
from bench2robust.core.errors import InfrastructureError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation import fleet
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import MANIFEST
from bench2robust.evaluation.request_log import read_requests
from bench2robust.evaluation.runner import Job, RunResult, make_job, run
from bench2robust.evaluation.store import EPISODES, TIMINGS, read_records
from bench2robust.evaluation.suite import describe_suite
from bench2robust.memory import Counts, Memory, dump

HERE = Path(__file__).parent
ROOT = Path(bench2robust.__file__).parents[1]
PROGRAM = "from bench2robust.cli import main; main()"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of installed packages with the domain ``watched`` in it."""
    folder = tmp_path_factory.mktemp("plugins")
    shutil.copy(HERE / "watched_desk.py", folder)
    shutil.copy(HERE / "conftest.py", folder)
    info = folder / "watched_desk-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: watched-desk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench2robust.domains]\nwatched = watched_desk:load\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{ROOT}")  # which workers inherit
        yield folder


@pytest.fixture(scope="module")
def cluster(plugins: Path) -> Iterator[Any]:
    """A cluster of two CPUs."""
    pytest.importorskip("ray", reason="engine ray needs bench2robust[ray]")
    ray = fleet._ray()
    with fleet._sigterm_lent():
        ray.init("local", num_cpus=2, object_store_memory=80 * 1024**2, include_dashboard=False,
                 log_to_driver=False, logging_level="ERROR")  # fmt: skip
        yield ray
        ray.shutdown()


Watch = Callable[..., Job]


@pytest.fixture
def watched(cluster: Any, tmp_path: Path) -> Watch:
    """A function that makes a job on the watched desk; its data folder is ``tmp_path``."""
    (tmp_path / "driver").write_text(str(os.getpid()))

    def make(out: str, engine: str = "ray", **changes: Any) -> Job:
        values = {
            "domain": "watched",
            "data": str(tmp_path),
            "agents": "scripted:retry,scripted:retry_switch",
            "modes": "clean,inject,inject_alt,s3",
            "seeds": 6,
            "out": str(tmp_path / out),
            "engine": engine,
            **changes,
        }
        return make_job(EvalConfig.read(values), get_domain("watched", str(tmp_path)))

    return make


def episodes(result: RunResult) -> bytes:
    return (result.folder / EPISODES).read_bytes()


def test_the_bytes_are_those_of_one_process(watched: Watch, tmp_path: Path) -> None:
    local, remote = run(watched("local", "local")), run(watched("ray"))
    assert remote.played == local.played == 2 * 4 * 6 * 3
    assert episodes(remote) == episodes(local)
    manifests = [(r.folder / MANIFEST).read_bytes() for r in (local, remote)]
    assert manifests[0] == manifests[1]
    times = (remote.folder / TIMINGS).read_bytes().splitlines()
    assert len(times) == 1 + remote.played


def test_the_workers_play_and_not_this_process(
    watched: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("played here")

    monkeypatch.setattr("bench2robust.evaluation.player.Episode", refuse)
    monkeypatch.setattr("bench2robust.evaluation.player.certify", refuse)
    assert run(watched("ray")).broken == 0
    assert run(watched("local", "local")).broken > 0


@pytest.mark.parametrize("first", ["local", "ray"])
def test_either_engine_goes_on_where_the_other_was_stopped(
    watched: Watch, tmp_path: Path, first: str
) -> None:
    def interrupt(done: int) -> None:
        if done == 50:
            os.kill(os.getpid(), signal.SIGINT)

    whole = episodes(run(watched("whole", "local")))
    with pytest.raises(KeyboardInterrupt):
        run(watched("cut", first), interrupt)
    assert 50 <= len(list(read_records(tmp_path / "cut"))) < 144
    seen: list[int] = []
    again = run(watched("cut", "ray" if first == "local" else "local"), seen.append)
    assert episodes(again) == whole
    assert seen == list(range(144 - again.played + 1, 145))


def test_a_worker_killed_in_the_middle_of_an_episode_changes_nothing(
    watched: Watch, tmp_path: Path
) -> None:
    whole = episodes(run(watched("whole", "local")))
    (tmp_path / "hang").touch()
    killed: list[int] = []

    def kill() -> None:
        busy = tmp_path / "busy"
        while not (busy.exists() and busy.read_text()):
            time.sleep(0.01)
        killed.append(int(busy.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    began = time.monotonic()
    result = run(watched("ray"))
    killer.join(timeout=10)
    assert killed and killed[0] != os.getpid() and not Path(f"/proc/{killed[0]}").exists()
    assert time.monotonic() - began < 60  # the hanging episode was given up, not waited for
    assert result.played == 144 and result.broken == 0
    assert episodes(result) == whole


def test_the_rounds_of_an_online_memory_are_barriers(watched: Watch, tmp_path: Path) -> None:
    start = Memory("watched", "d35c", 9, {("get_order", "timeout"): Counts(1, 9)})
    (tmp_path / "known.json").write_bytes(dump(start))
    memory = {
        "agents": "scripted:memory",
        "memory": f"none,static+online,full+online:{tmp_path / 'known.json'}",
        "memory_round": 7,
        "seeds": 20,
    }
    local, remote = run(watched("local", "local", **memory)), run(watched("ray", **memory))
    assert episodes(remote) == episodes(local)
    fixed = run(watched("fixed", **{**memory, "memory_round": 10**6}))
    assert episodes(fixed) != episodes(local)  # so that rounds do matter here


# ---- what goes wrong -------------------------------------------------------------------------


def test_what_breaks_in_an_episode_is_recorded_as_in_one_process(
    watched: Watch, tmp_path: Path
) -> None:
    jobs = watched("local", "local"), watched("ray")
    describe_suite(jobs[0].domain, jobs[0].tasks)  # the suite itself is sound
    (tmp_path / "break").touch()
    local, remote = map(run, jobs)
    assert remote.broken == local.broken == 2 * 4 * 6
    assert b"RuntimeError: boom (watched_desk.py:" in episodes(remote)
    assert episodes(remote) == episodes(local)
    (tmp_path / "break").unlink()
    again = run(jobs[1])
    assert (again.played, again.broken) == (48, 0)
    assert episodes(again) == episodes(run(watched("whole", "local")))


def test_what_breaks_more_than_an_episode_stops_the_run_and_is_named(
    watched: Watch, tmp_path: Path
) -> None:
    job = watched("run", workers=1)
    (tmp_path / "lose").touch()
    with pytest.raises(InfrastructureError, match=r"clean/.*LookupError: the database is gone"):
        run(job)
    (tmp_path / "lose").unlink()
    kept = len(list(read_records(job.folder)))
    assert kept > 0 and run(job).played == 144 - kept
    assert (job.folder / EPISODES).read_bytes() == episodes(run(watched("whole", "local")))


def test_a_cell_that_kills_every_worker_is_named(watched: Watch, tmp_path: Path) -> None:
    job = watched("run", tasks="look_2,", seeds=1, modes="clean")
    (tmp_path / "die").touch()
    with pytest.raises(InfrastructureError, match=r"clean/look_2/0 .* could not be played"):
        run(job)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("refuse", "could not start: .* RuntimeError: no licence on this machine"),
        ("other", "could not start: its suite is other, that of the run d35c"),
    ],
)
def test_a_worker_without_the_suite_of_the_run_plays_nothing(
    watched: Watch, tmp_path: Path, trouble: str, says: str
) -> None:
    job = watched("run")
    (tmp_path / trouble).touch()
    with pytest.raises((InfrastructureError, UsageError), match=says):
        run(job)
    assert not list(read_records(job.folder))


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    job = make_job(EvalConfig.read({"engine": "ray", "out": str(tmp_path / "run")}),
                   get_domain("retail"))  # fmt: skip
    with pytest.raises(UsageError, match=r"bench2robust\[ray\]"):
        run(job)
    assert not (tmp_path / "run").exists()


def test_a_budget_is_refused(tmp_path: Path) -> None:
    chat = {"agents": "chat:m", "chat": {"base_url": "http://127.0.0.1:1/v1"}}
    with pytest.raises(UsageError, match="cannot keep a budget"):
        fleet.check_engine(EvalConfig.read({**chat, "engine": "ray", "budget_tokens": 9}))


@pytest.mark.parametrize(
    ("address", "says"), [("127.0.0.1:9", "no cluster at the address '127.0.0.1:9'")]
)
def test_an_address_without_a_cluster_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for given, variable in (({"ray_address": address}, ""), ({}, address)):
        monkeypatch.setenv("RAY_ADDRESS", variable)
        with pytest.raises(UsageError, match=says):
            fleet.check_engine(EvalConfig.read({"engine": "ray", **given}))


def test_settings_of_an_engine_that_is_not_chosen_are_refused() -> None:
    for given in ({"workers": 2}, {"ray_address": "auto"}):
        with pytest.raises(UsageError, match=f"{next(iter(given))} applies to the engine ray"):
            EvalConfig.read(given)


def test_ray_is_imported_only_where_it_is_asked_for() -> None:
    check = "import sys, bench2robust.evaluation.runner; sys.exit('ray' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", check], env=environment).returncode == 0


def test_a_cluster_of_its_own_leaves_the_handling_of_signals_as_it_was(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="engine ray needs bench2robust[ray]")
    check = (
        "import signal, sys\n"
        "from bench2robust.domains import get_domain\n"
        "from bench2robust.evaluation.config import EvalConfig\n"
        "from bench2robust.evaluation.runner import make_job, run\n"
        "values = {'engine': 'ray', 'workers': 1, 'tasks': 2, 'out': sys.argv[1]}\n"
        "run(make_job(EvalConfig.read(values), get_domain('retail')))\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    command = [sys.executable, "-c", check, str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_ADDRESS": ""}
    subprocess.run(command, env=environment, check=True)


# ---- the whole command -----------------------------------------------------------------------


def command(out: Path, *more: str) -> subprocess.Popen[str]:
    arguments = ["eval", "--seeds", "2", "--agent", "scripted:retry_switch", "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, *more],
        env={**os.environ, "PYTHONPATH": str(ROOT), "RAY_ADDRESS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return errors


def playing(driver: int) -> list[int]:
    """Return the worker processes of a driver that are in the middle of a shard."""
    return [pid for pid in workers("ray::play_shard") if driver in ancestors(pid)]


def workers(title: str) -> list[int]:
    """Return the processes whose title begins like this; Ray tells there what a worker does."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if entry.read_bytes().startswith(title.encode()):
                found.append(int(entry.parent.name))
    return found


def ancestors(pid: int) -> Iterator[int]:
    with suppress(OSError):
        while pid > 1:
            status = Path(f"/proc/{pid}/status").read_text()
            pid = int(status.partition("PPid:")[2].split()[0])
            yield pid


def kill_one(process: subprocess.Popen[str], path: Path, lines: int) -> int:
    """Kill a busy worker as soon as the file has so many lines, and return which."""
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= lines:
            for pid in playing(process.pid):
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.002)
    raise AssertionError("the run ended before a worker could be killed")


@pytest.mark.slow
def test_402_tasks_and_two_seeds_also_when_a_worker_and_the_driver_are_killed(
    tmp_path: Path,
) -> None:
    pytest.importorskip("ray", reason="engine ray needs bench2robust[ray]")
    finish(command(tmp_path / "local"))
    whole = (tmp_path / "local" / EPISODES).read_bytes()
    assert whole.count(b"\n") == 402 * 2 * 3
    path = tmp_path / "ray" / EPISODES
    process = command(tmp_path / "ray", "--engine", "ray", "--workers", "2")
    killed = kill_one(process, path, 400)
    while path.read_bytes().count(b"\n") < 1200 and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.communicate(timeout=60)
    kept = path.read_bytes().count(b"\n")
    assert process.returncode == -signal.SIGKILL and 1200 <= kept < 402 * 2 * 3
    assert not Path(f"/proc/{killed}").exists()
    process = command(tmp_path / "ray", "--engine", "ray", "--workers", "2")
    kill_one(process, path, kept + 1)
    assert "raylet" not in finish(process)
    assert path.read_bytes() == whole
    for name in ("manifest.json", "tables.md"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


# ---- models ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fake() -> Any:
    """The module of a server that plays the plan of its tasks."""
    pytest.importorskip("aiohttp", reason="chat models need bench2robust[chat]")
    path = HERE.parent / "agents" / "chat" / "misbehaving.py"
    spec = importlib.util.spec_from_file_location("misbehaving", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def talk(out: Path, url: str, engine: str) -> RunResult:
    values = {
        "agents": "chat:plan,scripted:retry",
        "modes": "clean,inject",
        "seeds": 2,
        "tasks": 6,
        "concurrency": 8,
        "chat": {"base_url": url, "timeout": 20.0, "backoff": 0.01},
        "engine": engine,
        "out": str(out),
    }
    return run(make_job(EvalConfig.read(values), get_domain("retail")))


@pytest.mark.slow
def test_models_give_the_same_bytes_and_every_request_is_recorded(
    cluster: Any, fake: Any, tmp_path: Path
) -> None:
    with fake.Server(troubles=("500",)) as server:
        local = talk(tmp_path / "local", server.url, "local")
        remote = talk(tmp_path / "ray", server.url, "ray")
    assert (remote.played, remote.broken) == (48, 0)
    assert episodes(remote) == episodes(local)

    def attempts(folder: Path) -> list[Any]:
        rows = read_requests(folder)
        return sorted((r["task"], r["mode"], r["seed"], r["request"], r["attempt"]) for r in rows)

    answered = sum(r["outcome"] == "ok" for r in read_requests(remote.folder))
    records = read_records(remote.folder)
    assert answered == sum(r["model"]["requests"] for r in records if "model" in r) > 0
    assert len(set(attempts(remote.folder))) == len(attempts(remote.folder))


@pytest.mark.slow
def test_a_killed_worker_of_models_is_replaced(cluster: Any, fake: Any, tmp_path: Path) -> None:
    with fake.Server() as server:
        whole = episodes(talk(tmp_path / "local", server.url, "local"))
    killed: list[int] = []
    asked: list[int] = []

    def policy(body: dict[str, Any]) -> Any:
        asked.append(1)
        if len(asked) == 20:  # its worker waits for this answer, and others are under way
            killed.extend(p for p in workers("ray::ModelWorker") if os.getpid() in ancestors(p))
            del killed[1:]
            os.kill(killed[0], signal.SIGKILL)
        return fake.plan_policy(body)

    with fake.Server(policy) as server:
        result = talk(tmp_path / "ray", server.url, "ray")
    assert len(killed) == 1 and not Path(f"/proc/{killed[0]}").exists()
    assert (result.played, result.broken) == (48, 0) and episodes(result) == whole
