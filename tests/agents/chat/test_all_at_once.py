"""Everything at once: a clumsy model, a server with every trouble, and both processes killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import bench2robust
from bench2robust.evaluation.request_log import read_requests
from bench2robust.evaluation.store import EPISODES, read_records

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1])}
PROGRAM = "from bench2robust.cli import main; main()"
OUTCOMES = {"connection", "timeout", "http 429", "http 500", "broken answer"}


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed at the end, if it still runs."""
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as started:  # fmt: skip
        try:
            yield started
        finally:
            started.kill()


def wait_for(path: Path, size: float, running: subprocess.Popen[str]) -> None:
    """Wait until a file has grown to a size; the process that writes it must not end before."""
    while not path.exists() or path.stat().st_size < size:
        assert running.poll() is None, running.communicate()
        time.sleep(0.001)


@pytest.mark.slow
def test_a_run_through_everything_equals_the_undisturbed_one(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    with fake.Server(policy=fake.any_policy) as calm:
        whole = play(tmp_path / "calm", calm.url, agents="chat:clumsy").folder
    bytes_ = (whole / EPISODES).read_bytes()
    assert sum(r["success"] for r in read_records(whole)) >= 8  # there is a rate to keep
    assert all(r["events"][1]["call"] == "get_ordr" for r in read_records(whole))

    run = tmp_path / "run"
    # Half of the requests meet one trouble each, in turn.
    script = (sys.executable, str(Path(__file__).with_name("misbehaving.py")))
    troubles = [part for name in fake.TROUBLES for part in (name, "")]
    with process(*script, "0", *troubles) as first:
        assert first.stdout is not None
        port = first.stdout.readline().strip()
        command = (sys.executable, "-c", PROGRAM, "eval", "--agent", "chat:clumsy", "--base-url",
                   f"http://127.0.0.1:{port}/v1", "--modes", "clean,inject", "--seeds", "1",
                   "--tasks", "8", "--concurrency", "4", "--set", "chat.backoff=0.05", "--set",
                   "chat.timeout=0.5", "--out", str(run))  # fmt: skip
        with process(*command) as ours:
            wait_for(run / EPISODES, 0.3 * len(bytes_), ours)
            ours.send_signal(signal.SIGKILL)
        with process(*command) as ours:
            wait_for(run / EPISODES, 0.6 * len(bytes_), ours)
            first.kill()
            with process(*script, port, *troubles):
                _, errors = ours.communicate(timeout=120)
    assert ours.returncode == 0, errors
    assert (run / EPISODES).read_bytes() == bytes_
    check_retries(run)


def check_retries(run: Path) -> None:
    """Every trouble is on record, and so is the attempt after it, but where we were killed."""
    rows = list(read_requests(run))
    assert {row["outcome"] for row in rows} == {"ok", *OUTCOMES}
    attempts = Counter(
        (row["mode"], row["task"], row["seed"], row["request"], row["attempt"]) for row in rows
    )
    lost = sum(
        not attempts[row["mode"], row["task"], row["seed"], row["request"], row["attempt"] + 1]
        for row in rows
        if row["outcome"] != "ok"
    )
    assert lost <= 4  # the episodes that were under way when our process was killed
    answered = Counter((row["mode"], row["task"]) for row in rows if row["outcome"] == "ok")
    for record in read_records(run):
        assert record["status"] == "ok"
        assert answered[record["mode"], record["task"]] >= record["model"]["requests"]
