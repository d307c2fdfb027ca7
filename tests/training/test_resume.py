"""A run that was stopped, however, and goes on, is the run that was never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import uniform
from bench2robust.training import run
from bench2robust.training.preemption import REQUEUE

pytestmark = pytest.mark.slow
CHILD = Path(__file__).parent / "child.py"
ROOT = Path(__file__).parents[2]
ITERATIONS = 8
KEPT = {"every": 1, "keep": 2, "evaluate_every": 1}
UNJUDGED = {**KEPT, "evaluate_every": 0}
SPEEDS = ("tokens_per_second/rollout", "tokens_per_second/update")
TIMES = ("step_time", "time/rollout", "time/own", *SPEEDS)


def start(folder: Any, small: Any, *before: Any, break_at: str = "", **changes: Any) -> Any:
    made = small.settings(
        folder,
        **{"optim": {"steps": ITERATIONS}, "checkpoints": KEPT, **changes},
    )
    file = folder.with_suffix(".json")
    file.write_text(json.dumps(made.model_dump(mode="json")))
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "BREAK_AT": break_at,
    }
    return subprocess.Popen(
        [*(before or (sys.executable,)), str(CHILD), str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def finish(process: Any) -> Any:
    text, _ = process.communicate(timeout=600)
    assert process.returncode == 0, text
    return text


def curve(folder: Any) -> Any:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def validations(folder: Any) -> Any:
    return [json.loads(line) for line in (folder / "validation.jsonl").read_text().splitlines()]


def phases(folder: Any) -> Any:
    newest = max(folder.glob("checkpoints/*/complete.json"), key=lambda p: p.stat().st_mtime)
    return json.loads(newest.read_text())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: Any, small: Any) -> Any:
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    finish(start(folder, small))
    return folder


def test_a_run_says_something_at_every_step(undisturbed: Any) -> None:
    rows = curve(undisturbed)
    assert [row["iteration"] for row in rows] == list(range(ITERATIONS))
    assert len({row["reward"] for row in rows}) == ITERATIONS
    assert len({row["loss"] for row in rows}) == ITERATIONS


def test_the_policy_is_the_first_that_did_best_on_validation_tasks(undisturbed: Any) -> None:
    rows = validations(undisturbed)
    assert [row["iteration"] for row in rows] == list(range(ITERATIONS))
    scores = [row["score"] for row in rows]
    assert len(set(scores)) > 1, "there is something to choose"
    marks = [json.loads(p.read_text()) for p in undisturbed.glob("checkpoints/*/complete.json")]
    kept = {mark["iteration"]: mark["score"] for mark in marks}
    best = scores.index(max(scores)) + 1
    assert set(kept) == {best, ITERATIONS - 1, ITERATIONS}
    assert all(scores[done - 1] == score for done, score in kept.items())
    step = 2 * best  # of the optimizer
    weights = load_file(undisturbed / "checkpoints" / f"checkpoint-{step}" / "model.safetensors")
    final = load_file(undisturbed / "policy" / "model.safetensors")
    assert all(torch.equal(final[name], weight) for name, weight in weights.items())


def test_killed_at_any_moment_it_goes_on_to_the_same_end(
    undisturbed: Any, tmp_path: Any, small: Any
) -> None:
    folder = tmp_path / "killed"
    kills = 0
    while kills < 10:
        process = start(folder, small)
        # A line of progress or none, then any moment within the next iteration.
        for _ in range(int(2 * uniform("lines", kills))):
            process.stdout.readline()
        time.sleep(uniform("moment", kills))
        done = process.poll() is not None
        process.kill()
        process.communicate()
        if done:
            break
        kills += 1
    assert kills > 3
    finish(start(folder, small))
    assert curve(folder) == curve(undisturbed)
    assert validations(folder) == validations(undisturbed)
    assert phases(folder) == phases(undisturbed)
    episodes = "episodes/episodes.jsonl"
    assert (folder / episodes).read_bytes() == (undisturbed / episodes).read_bytes()
    weights = "policy/model.safetensors"
    assert (folder / weights).read_bytes() == (undisturbed / weights).read_bytes()


def test_told_to_end_it_keeps_a_checkpoint_and_asks_to_be_started_again(
    undisturbed: Any, tmp_path: Any, small: Any
) -> None:
    folder = tmp_path / "preempted"
    process = start(folder, small)
    while "iteration 2 of" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    text, _ = process.communicate(timeout=600)
    assert process.returncode == REQUEUE, text
    assert "Told to end after iteration" in text
    assert len(validations(folder)) == phases(folder)["iteration"] - 1, "one is owed"
    assert phases(folder)["score"] is None
    finish(start(folder, small))
    assert curve(folder) == curve(undisturbed)
    assert validations(folder) == validations(undisturbed)
    assert phases(folder) == phases(undisturbed)


def test_too_many_failures_lose_no_iteration(undisturbed: Any, tmp_path: Any, small: Any) -> None:
    folder = tmp_path / "failing"
    seldom = {"checkpoints": {**UNJUDGED, "every": 100}}
    process = start(folder, small, **seldom, break_at="3")
    text, _ = process.communicate(timeout=600)
    assert process.returncode == 1, text
    assert "8 of 8 episodes failed for reasons outside the policy" in text
    assert phases(folder)["iteration"] == 3
    records = (folder / "episodes" / "episodes.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["status"] == "infra_error" for line in records) == 8
    finish(start(folder, small, **seldom))
    assert curve(folder) == curve(undisturbed)
    episodes = "episodes/episodes.jsonl"
    assert (folder / episodes).read_bytes() == (undisturbed / episodes).read_bytes()


def test_other_settings_are_refused_and_the_difference_is_shown(
    undisturbed: Any, small: Any
) -> None:
    changed = small.settings(
        undisturbed,
        optim={"steps": ITERATIONS, "learning_rate": 0.02},
        checkpoints=KEPT,
    )
    with pytest.raises(UsageError, match=r"optim\.learning_rate: 0\.01, not 0\.02"):
        run(changed)


def test_a_full_disk_leaves_the_checkpoint_before_it(tmp_path: Any, small: Any) -> None:
    folder = tmp_path / "full"
    # Weights of 250 kB beside 25 kB of records per iteration: the checkpoint hits the limit first.
    scratch = {"hidden": 64, "layers": 1, "heads": 2, "feed_forward": 64}
    bigger = {"model": {"scratch": scratch}, "checkpoints": UNJUDGED}
    process = start(folder, small, **bigger)
    while "iteration 2 of" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    before = phases(folder)
    limited = ("bash", "-c", f"ulimit -f 180; exec {sys.executable} $0 $1")
    process = start(folder, small, *limited, **bigger)
    text, _ = process.communicate(timeout=600)
    assert process.returncode not in (0, REQUEUE)
    assert "cannot be written" in text
    assert f"the one of iteration {before['iteration']} stands" in text
    assert phases(folder) == before
    assert "iteration" in finish(start(folder, small, **bigger))
