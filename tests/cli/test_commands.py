from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_domains(cli: Any) -> None:
    done = cli("domains")
    assert done.code == 0 and "| retail | 1339 |" in done.out


def test_profiles_and_one_of_them(cli: Any) -> None:
    assert "| paper | 0.6 | 5 | 2 |" in cli("faults").out
    shown = cli("faults", "paper").out
    assert "request timed out after 30s" in shown and "factual_error" in shown
    done = cli("faults", "papr")
    assert done.code == 2 and "'paper'" in done.err


def test_tasks(cli: Any) -> None:
    counts = cli("tasks").out
    assert "1339" in counts and "gold argument values are literal" in counts
    ids = cli("tasks", "--ids", "test:5").out.split()
    assert len(ids) == 5
    shown = cli("tasks", "--show", ids[0])
    assert shown.code == 0 and "gold: " in shown.out and "user: " in shown.out
    done = cli("tasks", "--show", ids[0][:-1] + "x")
    assert done.code == 2 and "Did you mean" in done.err


def test_certificates(cli: Any, tmp_path: Path) -> None:
    done = cli("certify", "--tasks", "test:5", "--seeds", "2", "--out", "proofs")
    assert done.code in (0, 1), done.err
    lines = (tmp_path / "proofs/certificates.jsonl").read_text().splitlines()
    proofs = [json.loads(line) for line in lines]
    assert {p["scenario"] for p in proofs} == {"S1", "S2", "S3"} and len(proofs) == 30
    assert all(p["reason"] or p["status"] == "certified" for p in proofs)
    assert "| S1 |" in done.out and "Not applicable" in done.out


def test_too_many_excluded_cells_fail_the_check(cli: Any) -> None:
    """Within two steps no task can be solved, so every S1 cell is excluded."""
    done = cli("certify", "--tasks", "test:3", "--seeds", "1", "--scenarios", "S1",
               "--max-steps", "2")  # fmt: skip
    assert done.code == 1 and "3 of 3 cells could not be certified" in done.err
    done = cli("certify", "--tasks", "test:3", "--seeds", "1", "--scenarios", "S1",
               "--faults", "none")  # fmt: skip
    assert done.code == 0


def test_certify_knows_three_scenarios(cli: Any) -> None:
    done = cli("certify", "--scenarios", "S1,s2")
    assert done.code == 2 and "'S2'" in done.err


@pytest.fixture
def run(cli: Any, tmp_path: Path) -> Path:
    cli("eval", "--tasks", "test:4", "--seeds", "2", "--agent", "scripted:retry_switch",
        "--modes", "inject,inject_alt,s3", "--set", "certify=false", "--out", "run")  # fmt: skip
    return tmp_path / "run"


def test_every_episode_replays_to_the_same_results(cli: Any, run: Path) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    played = [n for n, line in enumerate(lines, 1) if json.loads(line)["status"] == "ok"]
    shown = [cli("replay", run, number) for number in played]
    assert {done.code for done in shown} == {0}
    text = "".join(done.out for done in shown)
    assert text.count("agree with the record") == len(played) > 12
    assert "! blocked, answers" in text and "(the call did not run)" in text
    assert "! timeout (the call ran)" in text


def test_a_replay_by_key_and_whole(cli: Any, run: Path) -> None:
    record = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])
    key = "/".join(str(record[part]) for part in ("agent", "mode", "task", "seed"))
    assert key in cli("replay", run, key).out
    assert "… (" not in cli("replay", run, key, "--full").out
    done = cli("replay", run, key + "9")
    assert done.code == 2 and "Did you mean" in done.err


def test_a_replay_that_differs_says_so(cli: Any, run: Path) -> None:
    path = run / "episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    record = json.loads(lines[0])
    call = next(e for e in record["events"] if "call" in e)
    lines[0] = lines[0].replace(call["result"], "0" * 16, 1)
    path.write_text("".join(lines))
    done = cli("replay", run, 1)
    assert done.code == 1 and "DIFFERS FROM THE RECORD" in done.out


def test_a_replay_needs_a_run(cli: Any, tmp_path: Path) -> None:
    done = cli("replay", tmp_path, 1)
    assert done.code == 2 and "not a run folder" in done.err
