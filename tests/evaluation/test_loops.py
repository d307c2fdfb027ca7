"""The loop guard as an option of a run: what agents are told, records, tables, replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.loops import loop_rows
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.tables import summary_tables
from bench2robust.monitors.loop_guard import Loop

RETAIL = get_domain("retail")
MARK = "[LOOP ADVISORY]"


def play(out: Path, **changes: Any) -> list[EpisodeRecord]:
    base = {
        "agents": "scripted:blind_retry,scripted:retry",
        "modes": "inject_alt",
        "scenario": "S2",
        "seeds": 1,
        "tasks": "12",
        "certify": False,
        "transcripts": True,
        "out": str(out),
    }
    run(make_job(EvalConfig.read({**base, **changes}), RETAIL))
    return list(read_records(out))


def told(record: EpisodeRecord) -> list[int]:
    """Return the calls whose result came with the word of the guard."""
    contents = [event["content"] for event in record["events"] if "call" in event]
    return [step for step, content in enumerate(contents) if MARK in content]


def test_an_agent_is_told_of_each_loop_and_acts_as_it_would_have(tmp_path: Path) -> None:
    guarded, free = play(tmp_path / "on", loop_guard=True), play(tmp_path / "off")
    assert any(r["loops"] for r in guarded)
    for record, plain in zip(guarded, free, strict=True):
        assert told(record) == [row["step"] for row in record["loops"]]
        assert not told(plain)
        calls = [
            [(e["call"], e["args"]) for e in r["events"] if "call" in e] for r in (record, plain)
        ]
        assert calls[0] == calls[1]  # scripted agents read the result itself
        assert record["success"] == plain["success"]


def test_a_run_without_a_guard_is_stored_as_ever(tmp_path: Path) -> None:
    records = play(tmp_path)
    assert not any("loops" in record for record in records)
    assert "loop_guard" not in read_manifest(tmp_path)["config"]
    off, on = EvalConfig.read({}), EvalConfig.read({"loop_guard": True})
    assert "loop_guard" not in off.decisive()
    assert off.hash("suite") != on.hash("suite")


def test_a_guarded_run_has_a_table_and_replays(tmp_path: Path) -> None:
    records = play(tmp_path, loop_guard=True)
    table = next(t for t in summary_tables(records) if t.name == "loops")
    assert table.rows[0][:3] == ("scripted:blind_retry", "inject_alt", "12")
    record = next(r for r in records if r["loops"])
    replay = Replay(PastRun(tmp_path), record)
    for _ in replay.steps():
        pass
    assert replay.episode.guard is not None
    assert loop_rows(replay.episode.guard.loops) == record["loops"]


def test_a_loop_that_goes_on_is_told_apart() -> None:
    rows = loop_rows(
        [Loop(2, "repeat", "a", 3), Loop(3, "repeat", "a", 4), Loop(6, "cycle", "b", 2)]
    )
    assert [row["again"] for row in rows] == [True, False, False]
