from __future__ import annotations

from typing import Any

import pytest

from bench2robust.evaluation.store import Store
from bench2robust.training.comparison import gains, kinds_table, policies_table
from bench2robust.training.examine import Cell, cells, examine, faced, passed
from bench2robust.training.gate import GateError, check_gate, readiness
from bench2robust.training.preemption import PreemptedError, StopRequest


def record(mode: str, task: str = "t", agent: str = "a", **fields: Any) -> Any:
    scenario = None if mode == "clean" else mode.upper()
    made = {
        "agent": agent, "mode": mode, "task": task, "seed": 0, "status": "ok", "success": False,
        "scenario": scenario, "realized": scenario, "abstained": False, "transferred": False,
        "gold_transfer": False, "false_claims": False, "faults": [],
    }  # fmt: skip
    return {**made, **fields}


def fault(reaction: str) -> dict[str, Any]:
    return {"delivered": "timeout", "reaction": reaction}


def test_a_cell_counts_where_the_fault_was_met(small: Any) -> None:
    assert faced(record("clean"))
    assert faced(record("s2"))
    assert not faced(record("s2", realized=None))
    assert not faced(record("s2", realized="S1"))
    assert not faced(record("s1", status="infra_error"))


def test_in_s3_an_abstention_passes_and_a_success_does_not_count() -> None:
    assert passed(record("s3", abstained=True))
    assert not passed(record("s3", success=True))
    assert passed(record("s1", success=True))


def test_cells_are_certified_and_played_once(small: Any, tmp_path: Any, scripted: Any) -> None:
    campaign = small.campaign()
    wanted = cells(campaign, campaign.tasks[:3], 0)
    assert [c.mode for c in wanted] == [m for m in ("clean", "s1", "s2", "s3") for _ in range(3)]
    engine = scripted(lambda *_: "transfer ;")
    with Store(tmp_path) as store:
        made = examine(None, engine, campaign, wanted, "x", store)
    assert [r["mode"] for r in made] == [c.mode for c in wanted]
    assert all(r["transferred"] for r in made)
    with Store(tmp_path) as store:
        assert examine(None, engine, campaign, wanted, "x", store) == []
        assert len(examine(None, engine, campaign, wanted[:2], "y", store)) == 2
    assert isinstance(wanted[0], Cell)


def test_an_examination_ends_when_it_is_told_to(small: Any, scripted: Any) -> None:
    campaign, stop = small.campaign(), StopRequest()
    wanted = cells(campaign, campaign.tasks[:1], 0)
    engine = scripted(lambda *_: "transfer ;")
    assert examine(None, engine, campaign, wanted, "x", stop=stop)
    stop.note(15, None)
    with pytest.raises(PreemptedError, match="goes on from there"):
        examine(None, engine, campaign, wanted, "x", stop=stop)


def test_the_gate_asks_for_clean_work_and_for_attempts(small: Any) -> None:
    clean = [record("clean", success=i < 9) for i in range(10)]
    tries = [record("s1", faults=[fault("retry" if i == 0 else "other")]) for i in range(10)]
    found = readiness(clean + tries)
    assert found.clean.share == 0.9
    assert found.attempts.share == 0.1
    made = small.settings(sft={"gate_clean": 0.9, "gate_attempts": 0.05})
    check_gate(made, found)
    with pytest.raises(GateError, match=r"passes 0\.900 \(9 of 10\).*gate_clean asks for 0\.95"):
        check_gate(small.settings(sft={"gate_clean": 0.95}), found)
    with pytest.raises(GateError, match=r"after none of failures.*gate_attempts"):
        check_gate(made, readiness(clean))
    check_gate(small.settings(), readiness([]))


def test_a_switch_is_an_attempt_and_only_the_first_failure_counts() -> None:
    rows = [fault("other"), fault("retry")]
    assert readiness([record("s2", faults=rows)]).attempts.share == 0.0
    assert readiness([record("s2", faults=[fault("switch")])]).attempts.share == 1.0


def test_the_tables_say_before_after_and_what_changed() -> None:
    before = [record("s1", f"t{i}", "SFT", success=i < 2, transferred=i > 4) for i in range(10)]
    after = [record("s1", f"t{i}", "RL", success=i < 8) for i in range(12)]
    table = policies_table(before + after, ["SFT", "RL"])
    column = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert column["SFT"]["S1"].startswith("0.200 [") and column["SFT"]["S1"].endswith("(10)")
    assert column["RL"]["S1"].startswith("0.667")
    assert column["SFT"]["premature S1"].startswith("0.500")
    assert column["SFT"]["clean"] == "—"
    row = next(r for r in gains(before + after, "SFT", "RL").rows if r[0] == "s1")
    assert row[1:3] == ("10", "0.600")
    assert float(row[3]) > 0


def test_the_types_of_fault_are_told_apart_and_those_held_out_marked() -> None:
    rows = [
        record("s1", f"t{i}", "RL", success=i < 3, faults=[{"delivered": kind}])
        for kind in ("timeout", "auth_error")
        for i in range(4)
    ]
    both = record("s2", "t", "RL", success=True, faults=[r["faults"][0] for r in rows[::4]])
    unmet = record("s1", "t", "RL", success=True, realized=None, faults=[{"delivered": None}])
    table = kinds_table([*rows, both, unmet], ["RL"], {"timeout"})
    assert [row[:2] for row in table.rows] == [("timeout", "seen"), ("auth_error", "held out")]
    assert all(row[2].startswith("0.800") and row[2].endswith("(5)") for row in table.rows)


def test_training_knows_what_its_profile_draws_and_what_blocked_tools_answer(small: Any) -> None:
    faults = {"base": "none", "clean": 0.8, "probabilities": {"timeout": 0.2}}
    campaign = small.campaign(episodes={"faults": faults})
    assert campaign.fault_types == {"timeout", "auth_error", "schema_drift"}


def test_an_examination_may_have_faults_of_its_own(
    small: Any, tmp_path: Any, tiny_policy: Any, scripted: Any, monkeypatch: Any
) -> None:
    from bench2robust.training import running

    calls = scripted(lambda rollout, key: f"find email {small.after(rollout, 'email')} ;")
    monkeypatch.setattr(running, "warm_start", lambda *_: tiny_policy)
    monkeypatch.setattr(running, "LockstepEngine", lambda temperature: calls)
    made = small.settings(
        tmp_path / "run",
        method="sft",
        optim={"micro_batch": 1},
        sft={"steps": 1, "batch": 1},
        episodes={"faults": "none"},
        held_out={"tasks": 3, "temperatures": [0.0], "faults": "timeout"},
    )
    *_, kinds = running.run(made)
    assert ("timeout", "held out") in {row[:2] for row in kinds.rows}
