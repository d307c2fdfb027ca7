"""Monitors as a dimension of a run: arms, records, tables, resumption by replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.domains import get_domain
from bench2robust.envs import watching
from bench2robust.evaluation.arms import agent_of, monitor_of, split_label
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.suite import select_tasks
from bench2robust.evaluation.tables import summary_tables
from bench2robust.memory import MemoryChoice
from bench2robust.monitors.contract import Contract, save_contract
from bench2robust.monitors.miner import Miner

RETAIL = get_domain("retail")


@pytest.fixture(scope="session")
def contract(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A contract file, mined from clean traces of a part of the training tasks."""
    miner = Miner()
    for task in RETAIL.tasks("train")[:120]:
        for call, result in watching.clean_calls(RETAIL, task):
            miner.add(call.name, call.arguments, result.content, task.id)
    path = tmp_path_factory.mktemp("contracts") / "retail.json"
    save_contract(miner.finalise("strict"), path)
    return str(path)


def play(out: Path, monitors: Sequence[str], **changes: Any) -> list[EpisodeRecord]:
    base = {
        "agents": "scripted:receipt,scripted:retry_switch",
        "modes": "clean,inject_alt",
        "scenario": "S1",
        "seeds": 1,
        "tasks": "12",
        "certify": False,
        "faults": {
            "base": "none",
            "tools": {"get_order_details": {"status_out_of_set": 1.0}},
            "budget": 10**6,
            "max_consecutive": 10**6,
        },
        "monitor": list(monitors),
        "out": str(out),
    }
    values: dict[str, Any] = {**base, **changes}
    run(make_job(EvalConfig.read(values), RETAIL))
    return list(read_records(out))


def of(records: Sequence[EpisodeRecord], agent: str, arm: str, mode: str) -> list[EpisodeRecord]:
    label = (f"scripted:{agent}", arm)
    return [r for r in records if _base(r) == label and r["mode"] == mode]


def _base(record: EpisodeRecord) -> tuple[str, str]:
    agent, arm = monitor_of(record["agent"])
    return agent, arm.partition(":")[0]


def calls(records: Sequence[EpisodeRecord]) -> list[Any]:
    return [[(e["call"], e["args"]) for e in r["events"] if "call" in e] for r in records]


@pytest.fixture(scope="module")
def records(contract: str, tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeRecord]:
    out = tmp_path_factory.mktemp("run") / "run"
    return play(out, [f"baseline:{contract}", f"advisory:{contract}", f"generic:{contract}"])


def test_the_follower_gains_and_the_blind_one_does_not(records: list[EpisodeRecord]) -> None:
    passed = {
        (agent, arm): sum(r["success"] for r in of(records, agent, arm, "inject_alt"))
        for agent in ("receipt", "retry_switch")
        for arm in ("baseline", "advisory", "generic")
    }
    assert passed["receipt", "advisory"] >= passed["receipt", "baseline"] + 3
    assert passed["receipt", "generic"] == passed["receipt", "advisory"]
    assert passed["retry_switch", "advisory"] == passed["retry_switch", "baseline"]
    for agent in ("receipt", "retry_switch"):
        for arm in ("baseline", "advisory"):
            assert all(r["success"] for r in of(records, agent, arm, "clean"))


def test_the_calls_of_the_blind_agent_are_the_same_in_every_arm(
    records: list[EpisodeRecord],
) -> None:
    for mode in ("clean", "inject_alt"):
        made = [
            calls(of(records, "retry_switch", a, mode)) for a in ("baseline", "advisory", "generic")
        ]
        assert made[0] == made[1] == made[2]
        assert made[0]
    follower = [calls(of(records, "receipt", a, "inject_alt")) for a in ("baseline", "advisory")]
    assert follower[0] != follower[1]


def test_records_tell_what_the_monitor_found(records: list[EpisodeRecord], contract: str) -> None:
    from bench2robust.monitors.contract import load_contract

    sha256 = load_contract(contract).sha256
    for record in records:
        use = record["monitor"]
        assert use["contract"] == sha256
        assert use["checked"] <= record["calls"]
        detected = {row["step"] for row in use["silent"] if row["detected"]}
        flagged = {row["step"]: row for row in use["receipts"]}
        assert detected <= flagged.keys()
        for step in detected:
            assert flagged[step]["injected"] == "status_out_of_set"
            assert flagged[step]["codes"] == ["unseen_category"]
            assert flagged[step]["warned"] == (use["arm"] != "baseline")
        for row in use["silent"]:
            assert row["kinds"] == ["out_of_set"]
            assert row["needed"]
            assert row["contaminated"] in (True, False)
    silent = [row for r in records for row in r["monitor"]["silent"]]
    assert len(silent) > 50
    assert all(row["detected"] for row in silent)


def test_the_next_call_after_a_receipt_is_classified(records: list[EpisodeRecord]) -> None:
    told = [
        (row, next_call(record, row["step"]))
        for record in of(records, "receipt", "advisory", "inject_alt")
        for row in record["monitor"]["receipts"]
    ]
    for row, after in told:
        expected = (
            "no_call"
            if after is None
            else "retry"
            if after == row["tool"]
            else "listed_substitute"
            if after in row["recovery"]
            else "other_tool"
        )
        assert row["action"] == expected
    assert {"listed_substitute"} <= {row["action"] for row, _ in told}


def next_call(record: EpisodeRecord, step: int) -> str | None:
    made = [e["call"] for e in record["events"] if "call" in e]
    return made[step + 1] if step + 1 < len(made) else None


def test_tables_pair_the_arms(records: list[EpisodeRecord]) -> None:
    tables = {table.name: table for table in summary_tables(records)}
    arms = {row[:4]: row for row in tables["monitor_arms"].rows}
    follower = next(r for k, r in arms.items() if k[0] == "scripted:receipt" and k[1] != "clean")
    assert follower[2].startswith("advisory")
    assert follower[3].startswith("baseline")
    wins, losses = map(int, follower[9].split("/"))
    assert wins >= 3
    assert losses == 0
    blind = [r for k, r in arms.items() if k[0] == "scripted:retry_switch"]
    assert {row[9] for row in blind} == {"0/0"}
    (row, *_) = tables["detection"].rows
    assert row[1] == "status_out_of_set"
    assert row[2].startswith("100.0 [")
    clean = [r for r in tables["false_positives"].rows if r[1] == "clean"]
    assert all(r[2].startswith("0.0 [0.0, ") and r[5] == "none" for r in clean)
    placed = tables["placement"].rows[0]
    assert placed[6].startswith("get_order_details")
    assert "reviews" not in tables


def test_a_monitored_episode_is_replayed_without_a_difference(
    contract: str, tmp_path: Path
) -> None:
    made = play(tmp_path / "run", [f"advisory:{contract}", f"always_verify:{contract}"], tasks="3")
    past = PastRun(tmp_path / "run")
    for record in made:
        replay = Replay(past, record)
        assert all(step.agrees for step in replay.steps())
        assert replay.differences() == []


def test_the_reviewer_is_an_arm(contract: str, tmp_path: Path) -> None:
    made = play(tmp_path / "run", [f"baseline:{contract}", f"reviewer:{contract}"], tasks="4")
    reviewed = [r for r in made if "reviewer" in r]
    assert {monitor_of(r["agent"])[1] for r in reviewed} == {"reviewer"}
    assert all(r["reviewer"]["reviews"] >= r["calls"] for r in reviewed)
    tables = {table.name: table for table in summary_tables(made)}
    assert tables["reviews"].rows
    assert any(row[2] == "reviewer" for row in tables["monitor_arms"].rows)


def test_a_contract_decides_results_by_its_content(contract: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    save_contract(Contract({}), other)
    same = tmp_path / "same.json"
    same.write_bytes(Path(contract).read_bytes())
    plain = EvalConfig.read({})
    hashes = [
        EvalConfig.read({"monitor": f"advisory:{path}"}).hash("x")
        for path in (contract, str(same), str(other))
    ]
    assert hashes[0] == hashes[1]
    assert len({*hashes, plain.hash("x"), EvalConfig.read({"monitor": "baseline"}).hash("x")}) == 4
    assert EvalConfig.read({"monitor": "none"}).hash("x") == plain.hash("x")
    assert "monitor" not in plain.stored()
    assert EvalConfig.read({"monitor": "placebo"}).stored()["monitor"] == ["placebo"]


def test_bad_monitors_are_named() -> None:
    with pytest.raises(UnknownNameError, match="advisory"):
        EvalConfig.read({"monitor": "advisry"})
    with pytest.raises(UsageError, match="of one name"):
        EvalConfig.read({"monitor": "advisory,auto"})
    with pytest.raises(UnknownNameError):
        EvalConfig.read({"monitor": "reviewer", "reviewer": "nobody"})


@pytest.mark.parametrize(
    ("label", "without", "monitor", "memory"),
    [
        ("a", "a", "none", "none"),
        ("a + monitor placebo", "a", "placebo", "none"),
        ("a+full + monitor advisory + user chat:m", "a+full + user chat:m", "advisory", "full"),
        ("a+full+online + user chat:m", "a+full+online + user chat:m", "none", "full"),
    ],
)
def test_labels_come_apart(label: str, without: str, monitor: str, memory: str) -> None:
    assert monitor_of(label) == (without, monitor)
    assert split_label(label)[1].variant == memory
    assert MemoryChoice("none") == split_label(split_label(label)[0])[1]
    assert agent_of(label) == "a"


def test_tasks_drawn_by_a_seed() -> None:
    drawn = [[t.id for t in select_tasks(RETAIL, f"test:50@{seed}")] for seed in (20260718, 7)]
    assert drawn[0] == [t.id for t in select_tasks(RETAIL, "test:50@20260718")]
    assert drawn[0] != drawn[1]
    assert len(set(drawn[0])) == 50
    assert {t.split for t in select_tasks(RETAIL, "test:50@20260718")} == {"test"}
    assert [t.id for t in select_tasks(RETAIL, "test:9@20260718")] == drawn[0][:9]
    for bad in ("test:50@", "test:50@x", "test:0@1", "test:5000@1"):
        with pytest.raises(UsageError):
            select_tasks(RETAIL, bad)
