"""Contracts from the episode records of a seam: what carried a fault is no nominal result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.contracts.traces import Reading, Traces
from bench2robust.seams.seam import Seam

RESULT = json.dumps({"total": 10.5, "status": "delivered"})
PLAN = {"schedule": [{"fault": "factual_error", "nth": 2}, {"fault": "timeout", "nth": 3}]}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record of two episodes of four calls: a sound one, a wrong one, an error, a doubted one."""
    path = tmp_path / "record.jsonl"
    for _ in range(2):
        with Seam(faults=PLAN, record=path, contract="declared", arm="always_warn") as seam:
            for _ in range(4):
                passage = seam.before(ToolCall("get", {"id": 1}))
                if passage.answer is None:
                    seam.after(passage, ToolResult(RESULT))
    return path


def test_sound_results_are_mined_without_their_receipts(record: Path) -> None:
    samples = list(Traces([record]).samples())
    assert [sample.response for sample in samples] == [json.loads(RESULT)] * 4
    assert {sample.tool for sample in samples} == {"get"}
    assert len({sample.group for sample in samples}) == 2


def test_what_was_delivered_is_checked_with_its_fault(record: Path) -> None:
    found = list(Traces([record], Reading(results="delivered")).observed())
    assert [observed.fault for observed in found] == [None, "factual_error", None] * 2
    assert found[1].sample.response["total"] != 10.5


def test_a_damaged_record_is_named(record: Path) -> None:
    row = json.loads(record.read_text().splitlines()[0])
    del row["events"][1]["args"]
    record.write_text(json.dumps(row))
    with pytest.raises(DataError, match="damaged episode record"):
        list(Traces([record]).samples())
