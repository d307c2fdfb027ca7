"""Memory as a dimension of a run: arms, fixed and online blocks, and what is reported."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.evaluation import player as player_module
from bench2robust.evaluation.arms import split_label
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.memory_tables import calibration_tables, posterior_tables
from bench2robust.evaluation.metrics import scored
from bench2robust.evaluation.runner import RunResult, make_job, run
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.evaluation.tables import summary_tables
from bench2robust.memory import (
    Counts,
    Memory,
    MemoryChoice,
    block,
    combine,
    count,
    dump,
    fallback_pairs,
    tally,
)

START = Memory("desk", "d35c", 9, {("get_order", "timeout"): Counts(1, 9)})


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A file with posteriors of the desk."""
    path = tmp_path / "known.json"
    path.write_bytes(dump(START))
    return path


def config(out: Path, **changes: Any) -> EvalConfig:
    base = {
        "agents": "scripted:memory",
        "memory": "none,static,static+online",
        "memory_round": 3,
        "modes": "inject,inject_alt",
        "seeds": 6,
        "tasks": "refund_1",
        "out": str(out),
    }
    values: dict[str, Any] = {**base, **changes}
    # The desk is no domain of the package, so its name is put in after the check.
    return EvalConfig.read(values).model_copy(update={"domain": "desk"})


def play(desk: Domain, out: Path, **changes: Any) -> RunResult:
    return run(make_job(config(out, **changes), desk))


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The blocks that agents were given, in order."""
    real, seen = player_module.make_agent, []

    def noting(spec: str, brief: Any) -> Any:
        seen.append(brief.memory)
        return real(spec, brief)

    monkeypatch.setattr(player_module, "make_agent", noting)
    return seen


def test_every_agent_runs_with_every_memory(desk: Domain, tmp_path: Path, known: Path) -> None:
    memory = f"none,placebo,full:{known}"
    result = play(desk, tmp_path / "run", memory=memory, agents="scripted:naive,scripted:memory")
    assert result.total == 6 * 2 * 2 * 3
    assert {r["agent"] for r in read_records(result.folder)} == {
        f"scripted:{agent}{label}"
        for agent in ("naive", "memory")
        for label in ("", "+placebo", "+full")
    }


def test_the_placebo_equals_no_memory_and_a_block_does_not(desk: Domain, tmp_path: Path) -> None:
    result = play(desk, tmp_path / "run", memory="none,placebo,static", seeds=20)
    by_arm: dict[str, list[Any]] = {}
    for record in read_records(result.folder):
        by_arm.setdefault(record["agent"], []).append({**record, "agent": ""})
    none, placebo, static = by_arm.values()
    assert none == placebo != static


def test_an_online_block_sees_the_episodes_of_earlier_rounds_only(
    desk: Domain, tmp_path: Path, known: Path, prompts: list[str]
) -> None:
    memory = f"full+online:{known}"
    result = play(desk, tmp_path / "run", memory=memory, modes="inject", seeds=8)
    records = sorted(read_records(result.folder), key=lambda r: r["seed"])
    tallies = [tally(r, fallback_pairs(desk)) for r in records]
    assert all(tallies) and len(prompts) == 8
    for seed, prompt in enumerate(prompts):
        earlier = [t for t in tallies[: seed // 3 * 3] if t]
        learned = combine(START, count(earlier, desk))
        assert prompt == block("full", learned, desk, False)
    assert len(set(prompts)) == 3


def test_modes_and_arms_learn_apart(desk: Domain, tmp_path: Path, prompts: list[str]) -> None:
    play(desk, tmp_path / "run", memory="static,static+online")
    fixed, online = prompts[::2], prompts[1::2]
    assert len(set(fixed[:6])) == 1 and fixed[0] == online[0]
    assert online[3] != online[0]
    # Another mode starts from nothing again.
    assert online[6] == fixed[6]


def test_concurrency_changes_no_byte(desk: Domain, tmp_path: Path) -> None:
    files = [
        (play(desk, tmp_path / str(n), concurrency=n).folder / EPISODES).read_bytes()
        for n in (1, 2, 16)
    ]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("stop", [1, 7, 14, 23, 35])
def test_an_interrupted_online_run_goes_on_to_the_same_blocks_and_bytes(
    desk: Domain, tmp_path: Path, prompts: list[str], stop: int
) -> None:
    whole = (play(desk, tmp_path / "whole").folder / EPISODES).read_bytes()
    blocks = prompts.copy()
    prompts.clear()

    def interrupt(done: int) -> None:
        if done == stop:
            os.kill(os.getpid(), signal.SIGINT)

    job = make_job(config(tmp_path / "cut"), desk)
    with pytest.raises(KeyboardInterrupt):
        run(job, interrupt)
    run(job)
    assert prompts == blocks
    assert (job.folder / EPISODES).read_bytes() == whole


def test_the_hash_covers_the_posteriors_and_not_their_file(known: Path, tmp_path: Path) -> None:
    def hashed(memory: Memory, name: str) -> str:
        path = tmp_path / name
        path.write_bytes(dump(memory))
        values = {"memory": f"full:{path}"}
        return EvalConfig.read(values).model_copy(update={"domain": "desk"}).hash("suite")

    other = combine(START, START)
    assert hashed(START, "a.json") == hashed(START, "b.json") != hashed(other, "a.json")
    plain = EvalConfig.read({}).hash("suite")
    assert plain != EvalConfig.read({"memory": "static"}).hash("suite")
    assert plain == EvalConfig.read({"memory": "none"}).hash("suite")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"memory": "ful"}, "give one of"),
        ({"memory": "full,full:retail"}, "twice"),
        ({"memory": "full,retail"}, "twice"),
        ({"memory": []}, "memory"),
        ({"memory_round": 0}, "memory_round"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        EvalConfig.read(values)


def test_a_memory_of_another_domain_is_refused(desk: Domain, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of the domain 'retail', not 'desk'"):
        make_job(config(tmp_path / "run", memory="full:retail"), desk)


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("scripted:memory", ("scripted:memory", MemoryChoice("none"))),
        ("chat:a+b", ("chat:a+b", MemoryChoice("none"))),
        ("chat:a+b+full", ("chat:a+b", MemoryChoice("full"))),
        ("x+shuffled+online", ("x", MemoryChoice("shuffled", True))),
        ("x+full + user chat:u+static", ("x + user chat:u+static", MemoryChoice("full"))),
        ("x + user chat:u+full", ("x + user chat:u+full", MemoryChoice("none"))),
    ],
)
def test_labels_are_read_back(label: str, parts: Any) -> None:
    assert split_label(label) == parts


@pytest.mark.parametrize("name", ["m+full", "m+static+online", "m + monitor auto", "m + user x"])
def test_an_agent_is_not_named_like_an_arm(name: str, desk: Domain, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give it another name"):
        make_job(config(tmp_path / "run", agents=[f"chat:{name}"]), desk)


def test_table_3(desk: Domain, tmp_path: Path) -> None:
    result = play(desk, tmp_path / "run", modes="inject", seeds=20)
    records = list(read_records(result.folder))
    table = next(t for t in summary_tables(records) if t.name == "memory_variants")
    rows = {row[2]: row for row in table.rows}
    assert list(rows) == ["Base (no memory)", "Static only (P = 0.50)"]
    assert rows["Static only (P = 0.50)"][3:5] == ("✓", "✗")
    base, static = rows.values()
    assert base[7] == "—" and static[7] != "—"
    own = [r["success"] for r in scored(records) if r["agent"] == "scripted:memory"]
    assert base[5].startswith(f"{100 * sum(own) / len(own):.1f}")
    plain = [r for r in records if r["agent"] == "scripted:memory"]
    assert all(t.name != "memory_variants" for t in summary_tables(plain))


def test_posteriors_and_calibration_are_shown(desk: Domain, tmp_path: Path) -> None:
    records = list(read_records(play(desk, tmp_path / "run", seeds=20).folder))
    recovery, switch = posterior_tables(START)
    assert recovery.rows == (("get_order", "timeout", "1", "9", "0.18", "0.03 to 0.45"),)
    assert not switch.rows
    scores, curve = calibration_tables(START, records, desk)
    forecasts = sum(int(row[2]) for row in curve.rows)
    assert forecasts == sum(int(row[1]) for row in scores.rows) > 50
