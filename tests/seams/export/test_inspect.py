from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.evaluation.store import read_records
from bench2robust.seams.export import export

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Inspect's own dependencies


@pytest.fixture(scope="module")
def run(evaluation: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All held-out tasks of the built-in suite."""
    folder: Path = evaluation(
        tmp_path_factory.mktemp("inspected") / "run", data=None, tasks="test", seeds=1,
        agents=["scripted:retry"], modes=["inject", "s3"], monitor=["auto"],
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def logs(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("inspected") / "logs"
    count, _ = export(run, "inspect", out)
    assert count == 2 * 402
    return out


def test_every_log_holds_its_402_tasks_intact(run: Path, logs: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    records = {(r["mode"], r["task"]): r for r in read_records(run)}
    found = [read_eval_log(info) for info in list_eval_logs(str(logs))]
    assert sorted(log.eval.task for log in found) == ["retail-inject", "retail-s3"]
    for log in found:
        assert log.status == "success" and len(log.samples) == 402
        for sample in log.samples:
            record = records[log.eval.task.partition("-")[2], sample.id]
            _check_messages(sample, record)
            _check_events(sample, record)
            assert sample.scores["success"].as_float() == record["success"]
            assert sample.scores["reward"].as_float() == record["reward"]
            assert ("abstained" in sample.scores) == (record["scenario"] == "S3")
        scores = {score.name: score.metrics["mean"].value for score in log.results.scores}
        mine = [r for (mode, _), r in records.items() if log.eval.task.endswith(mode)]
        assert scores["success"] == pytest.approx(sum(r["success"] for r in mine) / 402)


def _check_messages(sample: Any, record: Any) -> None:
    events = [e for e in record["events"] if "call" in e]
    calls = [call for m in sample.messages if m.role == "assistant" for call in m.tool_calls or ()]
    answers = [m for m in sample.messages if m.role == "tool"]
    assert [(c.function, c.arguments) for c in calls] == [(e["call"], e["args"]) for e in events]
    assert [(m.text, m.error is not None) for m in answers] == [
        (e["content"], e["error"]) for e in events
    ]
    faults = {f["step"]: f["delivered"] for f in record["faults"]}
    for number, message in enumerate(answers):
        if message.error and faults.get(number):
            assert message.error.message.startswith(f"injected: {faults[number]}: ")
    assert sample.messages[0].role == "system"


def _check_events(sample: Any, record: Any) -> None:
    kinds = [event.event for event in sample.events]
    assert kinds[0] == "sample_init" and kinds[-1] == "score"
    assert kinds.count("tool") == record["calls"]
    assert kinds.count("model") == record["steps"]
    info = [event.data for event in sample.events if event.event == "info"]
    assert [i["fault"] for i in info if "fault" in i] == json.loads(json.dumps(record["faults"]))
    assert len([i for i in info if "receipt" in i]) == len(record["monitor"]["receipts"])
    turns = [event for event in sample.events if event.event == "model"]
    assert turns[-1].input[0].role == "system" and len(turns[-1].input) > len(turns[0].input)


def test_domain_of_the_run() -> None:
    assert len(get_domain("retail").tasks("test")) == 402
