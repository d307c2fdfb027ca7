from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.training.config import TrainSettings
from bench2robust.training.demonstrations import demonstrate
from bench2robust.training.sft_data import record_rows, sft_row

RETAIL = get_domain("retail", None)
TRAIN = RETAIL.tasks("train")[:20]


def settings(**sft: Any) -> TrainSettings:
    sft = {"demonstrations": {"scripted:cautious": 1.0}, **sft}
    return TrainSettings.read({"method": "sft", "curriculum": "fixed_mix", "sft": sft})


def test_demonstrations_succeed_or_abstain_correctly() -> None:
    records = list(demonstrate(RETAIL, TRAIN, settings(), 40))
    assert len(records) == 40
    assert all(record["success"] or record["abstained"] for record in records)
    kinds = Counter(record["scenario"] for record in records)
    assert set(kinds) == {None, "S1", "S2", "S3"}
    assert 12 <= kinds[None] <= 28
    assert {record["task"] for record in records} <= {task.id for task in TRAIN}


def test_the_same_settings_give_the_same_demonstrations() -> None:
    first, again = (list(demonstrate(RETAIL, TRAIN, settings(), 5)) for _ in range(2))
    assert first == again
    other = TrainSettings.read({**settings().model_dump(), "seed": 1})
    assert list(demonstrate(RETAIL, TRAIN, other, 5)) != first


def test_shares_are_kept() -> None:
    mixed = settings(
        demonstrations={"scripted:cautious": 0.75, "scripted:retry_switch": 0.25}, clean=1
    )
    agents = Counter(r["agent"] for r in demonstrate(RETAIL, TRAIN, mixed, 60))
    assert 33 <= agents["scripted:cautious"] <= 55


def test_a_held_out_task_is_refused() -> None:
    tasks = [*TRAIN, RETAIL.tasks("test")[0]]
    with pytest.raises(UsageError, match="'test', which results are reported on"):
        next(demonstrate(RETAIL, tasks, settings(), 1))


def test_agents_that_never_succeed_are_named() -> None:
    hopeless = TrainSettings.read(
        {
            "method": "sft",
            "curriculum": {"phases": [{"name": "s2", "mix": {"S2": 1}}]},
            "episodes": {"side": "primary"},
            "sft": {"demonstrations": {"scripted:escalate": 1}, "clean": 0},
        }
    )
    with pytest.raises(UsageError, match="scripted:escalate: only 0 of"):
        list(demonstrate(RETAIL, TRAIN[:2], hopeless, 1))


def test_a_row_is_a_conversation_with_tools() -> None:
    record = next(demonstrate(RETAIL, TRAIN, settings(clean=0), 1))
    row = sft_row(record, RETAIL, "full", True)
    roles = [message["role"] for message in row["messages"]]
    assert roles[:2] == ["system", "user"]
    assert "<tool_reliability>" in row["messages"][0]["content"]
    assert len(row["tools"]) == 21
    asked = [m["tool_calls"][0] for m in row["messages"] if m.get("tool_calls")]
    answers = [m for m in row["messages"] if m["role"] == "tool"]
    assert [call["id"] for call in asked] == [m["tool_call_id"] for m in answers]
    assert [call["function"]["name"] for call in asked] == [m["name"] for m in answers]
    made = [(e["call"], e["args"]) for e in record["events"] if "call" in e]
    assert [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in asked] == made
    said = [event["say"] for event in record["events"] if "say" in event]
    plain = [m["content"] for m in row["messages"] if m["role"] == "assistant" and m["content"]]
    assert plain == said


def evaluation(folder: Path, **changes: Any) -> Path:
    values = {
        "agents": ["scripted:retry"],
        "modes": ["clean", "inject", "inject_alt"],
        "seeds": 1,
        "tasks": "train:12",
        "transcripts": True,
        "out": str(folder),
        **changes,
    }
    run(make_job(EvalConfig.read(values), RETAIL))
    return folder


def test_records_become_rows(tmp_path: Path) -> None:
    rows = list(record_rows(evaluation(tmp_path / "run"), RETAIL, "none"))
    assert rows
    assert {len(row["tools"]) for row in rows} == {16, 21}
    assert {row["scenario"] for row in rows} >= {"clean", "S1"}
    assert all(len(row["tools"]) == 16 for row in rows if row["scenario"] == "clean")


def test_records_of_held_out_tasks_are_refused(tmp_path: Path) -> None:
    folder = evaluation(tmp_path / "run", tasks="test:3")
    with pytest.raises(UsageError, match="Evaluate with --tasks train"):
        list(record_rows(folder, RETAIL, "none"))


def test_records_without_texts_are_refused(tmp_path: Path) -> None:
    folder = evaluation(tmp_path / "run", transcripts=False)
    with pytest.raises(DataError, match="--transcripts"):
        list(record_rows(folder, RETAIL, "none"))
