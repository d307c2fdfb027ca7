from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.record import SCHEMA_VERSION
from bench2robust.evaluation.report.load import load
from bench2robust.evaluation.report.pack import Packer
from bench2robust.evaluation.store import read_records


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def test_every_episode_comes_back_whole(real_run: Path) -> None:
    loaded = load([real_run])
    index, chunks = loaded.packer.pack({(a.run, a.agent): {"label": a.label} for a in loaded.arms})
    names, read = unpacked(index), [unpacked(chunk) for chunk in chunks]
    columns = names["columns"]
    found = {}
    for row, (chunk, task, slot) in enumerate(columns["place"]):
        group = read[chunk][task]
        episode = group["episodes"][slot]
        key = (names["arms"][columns["arm"][row]]["label"], names["modes"][columns["mode"][row]],
               names["tasks"][columns["task"][row]], columns["seed"][row])  # fmt: skip
        events = [group["events"][n] for n in episode["events"]]
        found[key] = {**episode, "events": events}
    original = list(read_records(real_run))
    assert len(found) == len(original)
    for record in original:
        key = (record["agent"], record["mode"], record["task"], record["seed"])
        kept = {k: v for k, v in record.items() if v not in (None, "", [])}
        assert {k: v for k, v in found[key].items() if v != []} == kept


def test_the_index_tells_outcomes_and_faults(record: Any, fault: Any) -> None:
    packer = Packer()
    blocked = fault(planned="blocked", delivered="auth_error")
    rows = [
        record(task="1", faults=[fault(), blocked, fault(planned="stale", delivered=None)]),
        record(task="2", success=False, faults=[fault(delivered="odd_kernel")]),
        record(task="3", scenario="S3", success=False, abstained=True),
        record(task="4", status="infra_error", success=False),
    ]
    for row in rows:
        packer.add(row, (0, "a"), "s")
    index = unpacked(packer.pack({(0, "a"): {"label": "a"}})[0])
    outcomes = [index["outcomes"][n] for n in index["columns"]["outcome"]]
    assert outcomes == ["passed", "failed", "passed", "infra_error"]
    faults = [{index["kinds"][n] for n in row} for row in index["columns"]["faults"]]
    assert faults == [{"timeout", "auth_error", "blocked"}, {"odd_kernel"}, set(), set()]


def test_equal_events_of_a_task_are_kept_once(record: Any) -> None:
    packer = Packer()
    for seed in range(50):
        packer.add(record(seed=seed, events=[{"user": "x" * 1000}]), (0, "a"), "s")
    (chunk,) = packer.pack({(0, "a"): {}})[1]
    (task,) = unpacked(chunk)
    assert task["events"] == [{"user": "x" * 1000}]


def test_tasks_of_one_name_in_two_suites_stay_apart(record: Any) -> None:
    packer = Packer()
    packer.add(record(), (0, "a"), "one")
    packer.add(record(), (1, "a"), "two")
    index = unpacked(packer.pack({(0, "a"): {}, (1, "a"): {}})[0])
    assert sorted(index["columns"]["suite"]) == [0, 1]


def test_large_runs_are_cut_into_chunks(record: Any) -> None:
    packer = Packer()
    for n in range(40):
        packer.add(record(task=str(n), events=[{"user": f"{n}" * 20_000}]), (0, "a"), "s")
    assert len(packer.pack({(0, "a"): {}})[1]) > 1


def test_agents_are_told_apart_by_run(make_run: Any, record: Any, tmp_path: Path) -> None:
    one = make_run(tmp_path / "one", [record(agent="b"), record(agent="a")], agents=["b", "a"])
    two = make_run(tmp_path / "two", [record(agent="b", success=False)])
    loaded = load([one, two])
    assert [arm.label for arm in loaded.arms] == ["b (one)", "a", "b (two)"]
    assert [(r["agent"], r["success"]) for r in loaded.records] == [
        ("b (one)", True), ("a", True), ("b (two)", False),
    ]  # fmt: skip
    names = [f"{agent}{rest}" for agent in "ba" for rest in ("", "+full + monitor placebo")]
    run = make_run(tmp_path / "m", [record(agent=n) for n in sorted(names)], agents=["b", "a"])
    assert [arm.label for arm in load([run]).arms] == names
    same = make_run(tmp_path / "more" / "one", [record(agent="b")])
    labels = [arm.label for arm in load([one, same]).arms]
    assert labels[-1] == "b (more/one)"


def test_bad_input_is_named(make_run: Any, record: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [record()])
    with pytest.raises(UsageError, match="given twice"):
        load([run, tmp_path / "run" / ".." / "run"])
    with pytest.raises(UsageError, match="no episode"):
        load([make_run(tmp_path / "empty", [])])
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"schema": {SCHEMA_VERSION}', '"schema": 0'))
    with pytest.raises(UsageError, match="records of schema 0"):
        load([run])


def test_paths_of_checkpoints_are_no_longer_than_needed(
    make_run: Any, record: Any, tmp_path: Path
) -> None:
    def labels(*agents: str) -> list[str]:
        folder = make_run(tmp_path / str(len(list(tmp_path.iterdir()))),
                          [record(agent=agent) for agent in agents], agents=agents)  # fmt: skip
        return [arm.label for arm in load([folder]).arms]

    one = "checkpoint:/data/runs/hybrid/step-100"
    assert labels(one) == ["checkpoint:…/hybrid/step-100"]
    assert labels(f"{one}+full + user chat:a/b/c") == [
        "checkpoint:…/hybrid/step-100+full + user chat:a/b/c"
    ]
    other = "checkpoint:/data/old/hybrid/step-100"
    assert labels(one, other) == [one, other]
    assert labels("checkpoint:a/b", "chat:a/b/c/d") == ["checkpoint:a/b", "chat:a/b/c/d"]
