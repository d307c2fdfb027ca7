"""A run killed at any instant goes on to the same bytes; nothing lost, nothing twice.

``python tests/cli/test_kill_resume.py 20`` kills more often than the suite does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import bench2robust
from bench2robust.core.keyed import uniform

ROOT = Path(bench2robust.__file__).parents[1]
PROGRAM = "from bench2robust.cli import main; main()"
CONFIG = ("--tasks", "test:60", "--seeds", "3", "--agent", "scripted:retry",
          "--agent", "scripted:cautious", "--modes", "clean,inject")  # fmt: skip
CELLS = 60 * 3 * 2 * 2


def start(folder: Path, *more: str, hash_seed: int = 0) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "eval", *CONFIG, "--out", str(folder), *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def kill_at(process: subprocess.Popen[str], path: Path, size: int) -> bool:
    """Kill the process once the file has so many bytes; False if it ended before."""
    while process.poll() is None:
        if path.exists() and path.stat().st_size >= size:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.0005)
    process.communicate(timeout=60)
    return process.returncode == -signal.SIGKILL


def check(folder: Path, kills: int) -> int:
    """Kill a run again and again, let it finish, and compare; return how many kills hit it."""
    whole, killed = folder / "whole", folder / "killed"
    finish(start(whole))
    expected = (whole / "episodes.jsonl").read_bytes()
    path = killed / "episodes.jsonl"
    hits = 0
    for number in range(kills):
        # A little further each time, at a point of the file that is random but repeatable.
        size = len(expected) * (number + uniform("kill", kills, number)) / kills
        hits += kill_at(start(killed), path, int(size))
        assert path.read_bytes().count(b"\n") <= CELLS
    finish(start(killed))
    assert path.read_bytes() == expected
    keys = [json.loads(line)["seed"] for line in expected.splitlines()]
    assert len(keys) == CELLS
    assert (killed / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()
    return hits


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    assert check(tmp_path, kills=5) >= 4


@pytest.mark.slow
def test_hash_seed_and_concurrency_change_no_byte(tmp_path: Path) -> None:
    runs = [
        (tmp_path / f"{seed}-{concurrency}", seed, concurrency)
        for seed, concurrency in ((0, 1), (4711, 1), (1, 16))
    ]
    for folder, seed, concurrency in runs:
        finish(start(folder, "--concurrency", str(concurrency), hash_seed=seed))
    for name in ("episodes.jsonl", "manifest.json", "tables.md"):
        assert len({(folder / name).read_bytes() for folder, _, _ in runs}) == 1, name


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with TemporaryDirectory() as scratch:
        print(f"{check(Path(scratch), count)} of {count} kills hit the run; same bytes each time")
