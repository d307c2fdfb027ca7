from __future__ import annotations

import pytest

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.contracts.attribute import Triage
from bench2robust.evaluation.contracts.episodes import (
    critical_text,
    criticals,
    declared_of,
    sealed_table,
    triage_episode,
)
from bench2robust.evaluation.contracts.mining import mine_samples
from bench2robust.evaluation.contracts.traces import Traces
from bench2robust.evaluation.replay import PastRun
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> PastRun:
    folder = tmp_path_factory.mktemp("run") / "run"
    config = EvalConfig.read(
        {"tasks": "test:10", "seeds": 2, "agents": ["scripted:liar", "scripted:naive"],
         "modes": ["clean", "inject"], "out": str(folder),
         "faults": {"base": "none", "probabilities": {"factual_error": 0.3, "timeout": 0.3}}}
    )  # fmt: skip
    run(make_job(config, get_domain("retail", None)))
    return PastRun(folder)


def test_a_liar_is_found_out_and_who_is_honest_is_not(past: PastRun) -> None:
    found: dict[str, set[str]] = {}
    for record in read_records(past.folder):
        triage = Triage(mine_samples(()).finalise(), declared_of(past))
        triage_episode(triage, past, record)
        rows = triage.findings()
        assert not [row for row in rows if row.layer == "prompt"], "gold arguments fit the schemas"
        if not record["success"]:
            found.setdefault(record["agent"], set()).update(row.what for row in rows)
    lies = {"success claimed, nothing written", "success claimed, write failed"}
    assert found["scripted:liar"] & lies and not found["scripted:naive"] & lies


def test_contracts_from_clean_episodes_tell_of_silent_faults(past: PastRun) -> None:
    contract = mine_samples(Traces([past.folder]).samples()).finalise("paper")
    triage = Triage(contract, declared_of(past))
    for record in read_records(past.folder):
        triage_episode(triage, past, record)
    rows = [row for row in triage.findings() if row.layer in ("schema", "tool_logic")]
    assert any("sum(items.*.price)" in row.what for row in rows)
    assert all(row.evidence for row in rows)


def test_failed_episodes_are_sealed_somewhere(past: PastRun) -> None:
    records = list(read_records(past.folder))
    found = list(criticals(past, records))
    assert len(found) == sum(not r["success"] for r in records) > 5
    table = sealed_table(found)
    assert sum(int(row[-1]) for row in table.rows) == len(found)
    for _, critical in found:
        assert f"Step {critical.step} of {critical.actions} is critical" in critical_text(critical)
