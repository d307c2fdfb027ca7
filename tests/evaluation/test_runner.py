from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.agents import Say
from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.evaluation import player as player_module
from bench2robust.evaluation.certificates import Certificate
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.replay import find_episode
from bench2robust.evaluation.runner import RunResult, make_job, run
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.evaluation.suite import describe_suite, select_tasks, suite_notes
from bench2robust.evaluation.tables import summary_tables


def settings(out: Path, **changes: Any) -> Mapping[str, Any]:
    base = {
        "agents": "scripted:retry,scripted:retry_switch",
        "modes": "clean,inject,inject_alt,s3",
        "seeds": 4,
        "tasks": "all",
        "out": str(out),
    }
    return {**base, **changes}


def play(desk: Domain, out: Path, **changes: Any) -> RunResult:
    return run(make_job(EvalConfig.read(settings(out, **changes)), desk))


def test_every_cell_once_in_key_order(desk: Domain, tmp_path: Path) -> None:
    result = play(desk, tmp_path / "run")
    assert (result.total, result.played, result.broken) == (96, 96, 0)
    records = list(read_records(result.folder))
    keys = [(r["agent"], r["mode"], r["task"], r["seed"]) for r in records]
    assert len(set(keys)) == 96 and keys == sorted(keys)
    assert all(r["success"] for r in records if r["mode"] == "clean")


def test_a_scenario_that_does_not_apply_is_never_scored_as_another(
    desk: Domain, tmp_path: Path
) -> None:
    """hand_3 passes without looking anything up, so no class is on its critical path."""
    result = play(desk, tmp_path / "run", tasks="hand_3", modes="inject_alt", scenario="S2")
    records = list(read_records(result.folder))
    assert {r["status"] for r in records} == {"not_applicable"}
    assert {r["scenario"] for r in records} == {"S2"}
    assert all(r["reason"] and not r["success"] and not r["events"] for r in records)


def test_a_cell_without_a_proof_is_uncertified(desk: Domain, tmp_path: Path) -> None:
    short = {"tasks": "refund_1", "modes": "inject", "max_steps": 2}
    result = play(desk, tmp_path / "certified", **short)
    assert {r["status"] for r in read_records(result.folder)} == {"uncertified"}
    result = play(desk, tmp_path / "anyway", certify=False, **short)
    assert {r["status"] for r in read_records(result.folder)} == {"ok"}


@pytest.mark.parametrize(
    ("proven", "status"), [("not_applicable", "not_applicable"), ("excluded", "uncertified")]
)
def test_the_status_of_a_cell_is_that_of_its_proof(
    desk: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proven: Any, status: str
) -> None:
    def proof(domain: Any, task: Any, scenario: Any, seed: int, around: Any) -> Certificate:
        why = f"task {task.id!r} has no {scenario}: because"
        return Certificate(task.id, scenario, seed, proven, why)

    monkeypatch.setattr(player_module, "certify", proof)
    records = list(read_records(play(desk, tmp_path / "run", modes="inject").folder))
    assert {(r["status"], r["reason"]) for r in records} == {(status, "because")}


def test_a_proof_that_breaks_down_is_no_certificate(
    desk: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> Certificate:
        raise RuntimeError("boom")

    monkeypatch.setattr(player_module, "certify", broken)
    result = play(desk, tmp_path / "run", modes="inject", seeds=1, tasks="refund_1")
    cells = next(t for t in summary_tables(read_records(result.folder)) if t.name == "cells")
    assert cells.rows[0][2:6] == ("0", "0", "0", "1")


def test_a_message_that_utf8_cannot_hold_does_not_stop_a_run(
    desk: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Garbled:
        def run(self) -> Any:
            yield Say("\ud83d")

    monkeypatch.setattr(player_module, "make_agent", lambda spec, brief: Garbled())
    files = []
    for name in ("one", "two"):
        result = play(desk, tmp_path / name, seeds=1, modes="clean")
        assert (result.played, result.broken) == (6, 0)
        assert all({"say": "\ud83d"} in r["events"] for r in read_records(result.folder))
        files.append((result.folder / EPISODES).read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("field", "value"), [("agent", "x"), ("mode", "s3"), ("task", "t"), ("seed", 9)]
)
def test_a_record_of_another_run_is_named(
    desk: Domain, tmp_path: Path, field: str, value: Any
) -> None:
    result = play(desk, tmp_path / "run", modes="clean", seeds=1)
    path = result.folder / EPISODES
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = orjson.dumps({**orjson.loads(lines[1]), field: value}) + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"line 2: {field} {value!r} is none of this run"):
        play(desk, tmp_path / "run", modes="clean", seeds=1)


def test_concurrency_changes_no_byte(desk: Domain, tmp_path: Path) -> None:
    files = []
    for concurrency in (1, 2, 16):
        result = play(desk, tmp_path / str(concurrency), concurrency=concurrency)
        files.append((result.folder / EPISODES).read_bytes())
    assert files[0] == files[1] == files[2]


def test_running_again_plays_nothing_and_changes_nothing(desk: Domain, tmp_path: Path) -> None:
    first = play(desk, tmp_path / "run")
    before = (first.folder / EPISODES).read_bytes()
    assert play(desk, tmp_path / "run").played == 0
    assert (first.folder / EPISODES).read_bytes() == before


def test_an_interrupted_run_goes_on_to_the_same_bytes(desk: Domain, tmp_path: Path) -> None:
    whole = (play(desk, tmp_path / "whole").folder / EPISODES).read_bytes()
    stop = 37

    def interrupt(done: int) -> None:
        if done == stop:
            os.kill(os.getpid(), signal.SIGINT)

    job = make_job(EvalConfig.read(settings(tmp_path / "cut")), desk)
    with pytest.raises(KeyboardInterrupt):
        run(job, interrupt)
    assert len(list(read_records(job.folder))) == stop
    done: list[int] = []
    assert run(job, done.append).played == 96 - stop
    assert (done[0], done[-1]) == (stop + 1, 96)
    assert (job.folder / EPISODES).read_bytes() == whole


def test_an_interrupted_interleaved_run_goes_on_too(desk: Domain, tmp_path: Path) -> None:
    whole = (play(desk, tmp_path / "whole").folder / EPISODES).read_bytes()

    def interrupt(done: int) -> None:
        if done == 20:
            os.kill(os.getpid(), signal.SIGINT)

    job = make_job(EvalConfig.read(settings(tmp_path / "cut", concurrency=8)), desk)
    with pytest.raises(KeyboardInterrupt):
        run(job, interrupt)
    run(job)
    assert (job.folder / EPISODES).read_bytes() == whole


def test_what_breaks_around_the_agent_is_no_failure_of_it(
    desk: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (play(desk, tmp_path / "whole").folder / EPISODES).read_bytes()
    real = player_module.make_agent

    def breaking(spec: str, brief: Any) -> Any:
        if brief.task.id == "look_2" and spec == "scripted:retry":
            raise RuntimeError("the provider is down")
        return real(spec, brief)

    monkeypatch.setattr(player_module, "make_agent", breaking)
    result = play(desk, tmp_path / "run")
    broken = [r for r in read_records(result.folder) if r["status"] == "infra_error"]
    assert result.broken == len(broken) > 0
    assert {(r["task"], r["agent"]) for r in broken} == {("look_2", "scripted:retry")}
    assert all("RuntimeError: the provider is down" in r["reason"] for r in broken)
    monkeypatch.undo()
    again = play(desk, tmp_path / "run")
    assert (again.played, again.broken) == (len(broken), 0)
    assert (again.folder / EPISODES).read_bytes() == whole


def test_agents_meet_the_same_faults(desk: Domain, tmp_path: Path) -> None:
    records = list(read_records(play(desk, tmp_path / "run", modes="inject", seeds=20).folder))
    first: dict[Any, set[str]] = {}
    for record in records:
        planned = {f"{f['tool']}{f['nth']}{f['planned']}" for f in record["faults"][:1]}
        first.setdefault((record["task"], record["seed"]), set()).update(planned)
    assert all(len(faults) <= 1 for faults in first.values())
    assert any(first.values())


def test_a_folder_of_another_run_is_refused(desk: Domain, tmp_path: Path) -> None:
    play(desk, tmp_path / "run")
    with pytest.raises(UsageError, match="seeds"):
        play(desk, tmp_path / "run", seeds=3)


def test_unknown_tools_in_a_profile_are_refused(desk: Domain, tmp_path: Path) -> None:
    faults = {"clean": 1.0, "tools": {"get_ordr": {"timeout": 1.0}}}
    with pytest.raises(UnknownNameError, match="get_order"):
        play(desk, tmp_path / "run", faults=faults)


# ---- tasks -----------------------------------------------------------------------------------


def test_selecting_tasks(desk: Domain) -> None:
    def ids(spec: str) -> list[str]:
        return [task.id for task in select_tasks(desk, spec)]

    assert ids("all") == ["refund_1", "look_2", "hand_3"]
    assert ids("train") == ["hand_3"]
    assert ids("all:2") == ["refund_1", "look_2"]
    assert ids("hand_3, refund_1") == ["hand_3", "refund_1"]
    with pytest.raises(UnknownNameError, match="'refund_1'"):
        ids("refund_2")
    with pytest.raises(UnknownNameError, match="'train'"):
        ids("trian")
    with pytest.raises(UnknownNameError, match="'refund_1:2'"):
        ids("refund_1:2")
    for count in ("all:4", "all:0"):
        with pytest.raises(UsageError, match="there are 3"):
            ids(count)


def test_the_default_tasks(desk: Domain) -> None:
    def ids(**values: Any) -> list[str]:
        return [task.id for task in make_job(EvalConfig.read(values), desk).tasks]

    assert ids() == ["refund_1", "look_2"]
    assert ids(data="somewhere") == ["refund_1", "look_2", "hand_3"]
    assert ids(tasks=1) == ["refund_1"]
    assert ids(tasks=["hand_3"]) == ["hand_3"]
    with pytest.raises(UnknownNameError, match="'1'"):
        ids(tasks=[1])  # an id, not a number of tasks


def test_notes_on_a_suite(desk: Domain) -> None:
    facts = describe_suite(desk, desk.tasks())
    assert facts.tasks == 3 and facts.literals[1] == 8
    notes = suite_notes(desk, facts)
    assert notes[0].startswith(f"{facts.literals[0]} of 8 (")
    assert "1 of 3 tasks need a judge" in notes[1]
    assert notes[-1] == "A desk for tests."


def test_finding_an_episode(desk: Domain, tmp_path: Path) -> None:
    folder = play(desk, tmp_path / "run", tasks="refund_1", seeds=1).folder
    record = find_episode(folder, "scripted:retry/inject/refund_1/0")
    assert (record["mode"], record["seed"]) == ("inject", 0)
    assert find_episode(folder, "1")["mode"] == "clean"
    with pytest.raises(UnknownNameError, match="scripted:retry/inject/refund_1/0"):
        find_episode(folder, "scripted:retry/inject/refund_1/9")
