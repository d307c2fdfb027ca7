from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.contracts.mining import mine
from bench2robust.evaluation.contracts.traces import Reading, Traces
from bench2robust.evaluation.runner import make_job, run
from bench2robust.monitors.contract import contract_text


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    config = EvalConfig.read(
        {"tasks": "test:8", "seeds": 2, "agents": ["scripted:retry_switch"],
         "modes": ["inject"], "out": str(folder)}
    )  # fmt: skip
    run(make_job(config, get_domain("retail", None)))
    return folder


def test_sources_of_every_kind_are_read_together(
    shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    lines = jsonl("a/x.jsonl", shop(3))
    jsonl("a/deep/y.jsonl", shop(2, 3))
    (tmp_path / "orders.json").write_text(json.dumps({"#1": {"total": 1}}))
    (tmp_path / "tools.json").write_text(
        json.dumps([{"name": "t", "inputSchema": {}, "outputSchema": {"type": "string"}}])
    )
    traces = Traces([tmp_path / "a", tmp_path / "orders.json", tmp_path / "tools.json"])
    found = list(traces.samples())
    assert [s.tool for s in found] == ["get_order"] * 5 + ["orders"]
    assert found == list(traces.samples()), "sources can be read again"
    assert [t.name for t in traces.declared] == ["t"] and not traces.empty
    done: list[int] = []
    list(traces.samples(done.append))
    assert sum(done) == traces.size > lines.stat().st_size
    assert Traces([tmp_path / "tools.json"]).empty


def test_a_run_gives_what_tools_returned_or_what_agents_saw(played: Path) -> None:
    executed = list(Traces([played]).observed())
    delivered = list(Traces([played], Reading(results="delivered")).observed())
    assert len(executed) > 50 and {o.fault for o in executed} == {None}
    faults = {o.fault for o in delivered} - {None}
    assert faults <= {"partial", "stale", "factual_error", "malformed_response"} and faults
    true = {json.dumps(o.sample) for o in executed}
    silent = {"partial", "stale", "factual_error"}
    wrong = [o for o in delivered if o.fault in silent]
    assert wrong and not any(json.dumps(o.sample) in true for o in wrong)
    assert all(json.dumps(o.sample) in true for o in delivered if o.fault is None)
    assert {o.sample.group for o in executed} == {r["task"] for r in _records(played)}


def _records(folder: Path) -> list[Any]:
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    return [r for r in map(json.loads, lines) if r["status"] == "ok"]


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one"):
        Traces([])
    with pytest.raises(DataError, match="no such"):
        Traces([tmp_path / "none"])
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(DataError, match="holds no episodes"):
        Traces([tmp_path])


def test_rows_that_hold_no_sample_are_bad_lines(jsonl: Callable[..., Path]) -> None:
    path = jsonl("x.jsonl", [{"tool": "t", "response": 1}, {"tool": 3}, {"tool": "t"}])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"2 of 3 lines .* line 2: 'tool' is 3"):
        list(Traces([path]).samples())
    traces = Traces([path], Reading(skip_bad=True))
    assert len(list(traces.samples())) == 1 and traces.bad.count == 2


def test_two_processes_mine_what_one_does(shop: Any, jsonl: Callable[..., Path]) -> None:
    paths = [jsonl("a.jsonl", shop(300)), jsonl("b.jsonl", shop(90, 300))]
    texts = []
    for workers in (1, 2):
        progress: list[int] = []
        traces = Traces(paths)
        miner = mine(traces, 3, workers, progress=progress.append)
        texts.append([contract_text(c) for c in (miner.finalise("paper"), *miner.registries())])
        assert sum(progress) == traces.size
    assert texts[0] == texts[1] and "affine" in texts[0][0]


def test_processes_name_bad_lines_as_one_does(shop: Any, jsonl: Callable[..., Path]) -> None:
    path = jsonl("a.jsonl", shop(200))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[50] = b"bad\n"
    lines[150] = b"\xff\n"
    path.write_bytes(b"".join(lines))
    named = []
    for workers in (1, 2):
        traces = Traces([path], Reading(skip_bad=True))
        mine(traces, workers=workers)
        named.append(traces.bad)
    assert named[0].named == named[1].named and [n for _, n, _ in named[0].named] == [51, 151]
    with pytest.raises(DataError, match="2 of 200 lines"):
        mine(Traces([path]), workers=2)
