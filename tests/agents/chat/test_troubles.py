"""Whatever a server does wrong: no episode lost, none blamed on the agent, every retry recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bench2robust
from bench2robust.agents.chat.endpoint import GIVE_UP
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.request_log import REQUESTS, read_requests, request_totals
from bench2robust.evaluation.store import EPISODES, read_records

OUTCOMES = {
    "down": "connection",
    "slow": "timeout",
    "429": "http 429",
    "429 retry-after": "http 429",
    "500": "http 500",
    "html": "broken answer",
    "truncated": "broken answer",
    "mid-stream": "connection",
}


@pytest.fixture(scope="module")
def whole(fake: Any, play: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The episodes of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with fake.Server() as server:
        play(folder, server.url)
    records = list(read_records(folder))
    assert sum(r["success"] for r in records) >= 10  # the plan works, so there is a rate to keep
    return (folder / EPISODES).read_bytes()


@pytest.mark.slow
def test_troubles_that_pass_leave_no_trace(
    fake: Any, play: Any, tmp_path: Path, whole: bytes
) -> None:
    with fake.Server(troubles=fake.TROUBLES) as server:
        result = play(tmp_path / "run", server.url)
    assert (result.played, result.broken) == (16, 0)
    assert (result.folder / EPISODES).read_bytes() == whole
    assert set(server.done) == set(fake.TROUBLES)
    noted = request_totals(result.folder).troubles
    expected = Counter({OUTCOMES[name]: 0 for name in fake.TROUBLES})
    for name, count in server.done.items():
        expected[OUTCOMES[name]] += count
    # A loaded machine may add a timeout of its own; none may be missing.
    assert all(noted[kind] >= count for kind, count in expected.items())


def test_every_retry_is_in_the_sidecar(fake: Any, play: Any, tmp_path: Path) -> None:
    with fake.Server(troubles=("500",)) as server:
        result = play(tmp_path / "run", server.url, tasks=1, modes="clean")
    rows = list(read_requests(result.folder))
    (record,) = read_records(result.folder)
    assert record["model"]["requests"] == len(rows) // 2 == record["steps"]
    assert [r["outcome"] for r in rows] == ["http 500", "ok"] * (len(rows) // 2)
    assert [r["attempt"] for r in rows] == [1, 2] * (len(rows) // 2)
    assert all((r["wait"] > 0) == (r["outcome"] != "ok") for r in rows)
    answered = [r for r in rows if r["outcome"] == "ok"]
    assert record["tokens"] == sum(r["prompt"] + r["completion"] for r in answered)
    assert record["cost"] is None  # the price of "plan" is not known
    assert {(r["agent"], r["task"], r["by"]) for r in rows} == {
        ("chat:plan", record["task"], "agent")
    }


def test_retry_after_is_honoured(fake: Any, play: Any, tmp_path: Path) -> None:
    with fake.Server(troubles=("429 retry-after",)) as server:
        play(tmp_path / "run", server.url, tasks=1, modes="clean")
    waited = [later - first for first, later in server.waits.values()]
    assert waited and min(waited) >= 0.3


def test_a_server_killed_and_restarted_in_the_middle(
    fake: Any, play: Any, tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = [fake.Server()]
    port = servers[0].port

    def back() -> None:
        servers.append(fake.Server(port=port))

    from bench2robust.evaluation import runner

    keep, restarts = runner._Runner._keep, []

    def kill(self: Any, *arguments: Any) -> None:
        keep(self, *arguments)
        if self.played == 5:
            servers[0].close()
            restarts.append(threading.Timer(0.5, back))
            restarts[0].start()

    monkeypatch.setattr(runner._Runner, "_keep", kill)
    result = play(tmp_path / "run", servers[0].url, chat={"backoff": 0.1})
    restarts[0].join()
    servers[1].close()
    assert (result.played, result.broken) == (16, 0)
    assert (result.folder / EPISODES).read_bytes() == whole
    assert request_totals(result.folder).troubles["connection"] > 0


def test_an_endpoint_that_stays_away_is_no_failure_of_the_agent(
    fake: Any, play: Any, tmp_path: Path, whole: bytes
) -> None:
    with fake.Server() as gone:
        pass
    result = play(tmp_path / "run", gone.url, chat={"attempts": 2})
    assert (result.played, result.broken) == (16, 16)
    records = list(read_records(result.folder))
    assert {r["status"] for r in records} == {"infra_error"}
    assert all("did not answer in 2 attempts" in r["reason"] for r in records)
    with fake.Server() as server:
        again = play(tmp_path / "run", server.url)
    assert (again.played, again.broken) == (16, 0)
    assert (again.folder / EPISODES).read_bytes() == whole


def test_an_endpoint_that_is_gone_for_good_ends_the_run(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    with fake.Server() as gone:
        pass
    settings: dict[str, Any] = {"seeds": 5, "modes": "clean", "chat": {"attempts": 1}}
    with pytest.raises(RunStoppedError, match="the same command goes on"):
        play(tmp_path / "run", gone.url, **settings)
    assert len(list(read_records(tmp_path / "run"))) == GIVE_UP - 1
    with fake.Server() as server:
        assert play(tmp_path / "run", server.url, **settings).broken == 0


def test_requests_lost_now_and_then_do_not_end_the_run(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"seeds": 5, "tasks": 6, "chat": {"attempts": 1}}
    with fake.Server(troubles=("", "", "", "500")) as server:
        result = play(tmp_path / "run", server.url, **settings)
    assert result.played == 60 and result.broken > GIVE_UP
    with fake.Server() as server:
        again = play(tmp_path / "run", server.url, **settings)
    assert (again.played, again.broken) == (result.broken, 0)


def test_a_torn_last_line_of_the_sidecar_is_cut_off(fake: Any, play: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"tasks": 1, "modes": "clean", "seeds": [0, 1]}
    with fake.Server() as server:
        result = play(tmp_path / "run", server.url, **settings)
        whole = list(read_requests(result.folder))
        with open(result.folder / REQUESTS, "ab") as file:
            file.write(b'{"agent": "chat:plan", "mo')
        records = (result.folder / EPISODES).read_bytes().splitlines(keepends=True)
        (result.folder / EPISODES).write_bytes(records[0])
        assert list(read_requests(result.folder)) == whole
        play(tmp_path / "run", server.url, **settings)
    again = list(read_requests(result.folder))
    assert again[: len(whole)] == whole and len(again) == len(whole) * 3 // 2


def test_other_client_errors_are_not_tried_again(fake: Any, play: Any, tmp_path: Path) -> None:
    said = '{"error": {"message": "tools are not supported"}}'
    with fake.Server(troubles=(fake.http(400, said),)) as server:
        result = play(tmp_path / "run", server.url, tasks=1, modes="clean")
    (record,) = read_records(result.folder)
    assert record["status"] == "infra_error" and "tools are not supported" in record["reason"]
    assert [r["outcome"] for r in read_requests(result.folder)] == ["http 400"]


@pytest.mark.parametrize(("status", "hint"), [(404, "name of the model"), (401, "no key was sent")])
def test_a_refusal_ends_the_run(
    fake: Any, play: Any, tmp_path: Path, status: int, hint: str
) -> None:
    with (
        fake.Server(troubles=(fake.http(status, '{"error": "no"}'),)) as server,
        pytest.raises(UsageError, match=hint),
    ):
        play(tmp_path / "run", server.url)
    assert not list(read_records(tmp_path / "run"))


def test_a_budget_of_tokens_ends_the_run_and_a_larger_one_goes_on(
    fake: Any, play: Any, tmp_path: Path, whole: bytes
) -> None:
    with fake.Server() as server:
        with pytest.raises(RunStoppedError, match=r"budget_tokens"):
            play(tmp_path / "run", server.url, budget_tokens=200_000)
        used = request_totals(tmp_path / "run").tokens
        assert 200_000 <= used < 300_000
        with fake.Server() as other, pytest.raises(RunStoppedError):  # what was used before counts
            play(tmp_path / "run", other.url, budget_tokens=200_000)
        assert not other.bodies
        play(tmp_path / "run", server.url, budget_tokens=10_000_000)
    assert (tmp_path / "run" / EPISODES).read_bytes() == whole


def test_a_budget_of_money(fake: Any, play: Any, tmp_path: Path) -> None:
    with fake.Server() as server:
        with pytest.raises(UsageError, match="price of plan"):
            play(tmp_path / "run", server.url, budget_usd=1)
        prices = tmp_path / "prices.yaml"
        prices.write_text("models: {plan: {input: 2, output: 8}}")
        with pytest.raises(RunStoppedError, match="budget_usd"):
            play(tmp_path / "run", server.url, budget_usd=0.2, prices=str(prices))
        result = play(tmp_path / "free", server.url, prices=str(prices), tasks=1, modes="clean")
    (record,) = read_records(result.folder)
    use = record["model"]
    assert record["cost"] == pytest.approx(
        (2 * use["prompt_tokens"] + 8 * use["completion_tokens"]) / 1e6
    )


PROGRAM = "from bench2robust.cli import main; main()"


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(
    fake: Any, tmp_path: Path, whole: bytes
) -> None:
    folder = tmp_path / "run"
    path = folder / EPISODES
    with fake.Server(troubles=("", "500", "", "mid-stream"), latency=0.01) as server:
        command = (sys.executable, "-c", PROGRAM, "eval", "--agent", "chat:plan", "--base-url",
                   server.url, "--modes", "clean,inject", "--seeds", "1", "--tasks", "8",
                   "--concurrency", "4", "--set", "chat.backoff=0.01", "--out",
                   str(folder))  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1])}

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)  # fmt: skip

        for share in (0.1, 0.5):
            process = start()
            while process.poll() is None:
                if path.exists() and path.stat().st_size >= share * len(whole):
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.001)
            process.communicate()
            assert process.returncode == -signal.SIGKILL
        process = start()
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert path.read_bytes() == whole
    assert b"http 500" in (folder / "tables.md").read_bytes()
