from __future__ import annotations

from math import isnan
from typing import Any

import pytest

from bench2robust.evaluation import metrics
from bench2robust.evaluation.metrics import Rate


def record(task: str = "t", seed: int = 0, success: bool = True, **more: Any) -> Any:
    base = {
        "agent": "a",
        "mode": "inject",
        "task": task,
        "seed": seed,
        "flags": [],
        "scenario": "S1",
        "realized": None,
        "status": "ok",
        "reason": "",
        "success": success,
        "steps": 10,
        "tokens": None,
        "reward": 1.0,
        "sim_seconds": 20.0,
        "transferred": False,
        "gold_transfer": False,
        "viable_unused": False,
        "abstained": False,
        "duplicate_attempts": 0,
        "duplicate_effects": 0,
        "verified_retries": 0,
        "rate_limit_violations": 0,
        "faults": [],
    }
    return {**base, **more}


def row(delivered: str | None, planned: str | None = None, **more: Any) -> Any:
    base = {"planned": planned or delivered, "delivered": delivered, "seen": delivered is not None}
    return {**base, "changes": [], "wrong": 0, "adopted": 0, "reaction": "retry", **more}


def test_only_played_tasks_without_a_judge_are_scored() -> None:
    records = [
        record("a"),
        record("b", flags=["needs_judge", "other"]),
        record("c", status="uncertified"),
        record("d", status="not_applicable"),
        record("e", status="infra_error"),
        record("f", flags=["gold_write_fails"]),
    ]
    assert [r["task"] for r in metrics.scored(records)] == ["a", "f"]
    assert [r["task"] for r in metrics.judged(records)] == ["b"]


def test_mean_and_sample_deviation_over_seeds_by_hand() -> None:
    """Seeds 0, 1, 2 pass 2/2, 1/2 and 0/2: mean .5, sample variance ((.5)² + 0 + (.5)²) / 2."""
    passes = {0: (True, True), 1: (True, False), 2: (False, False)}
    records = [
        record(task, seed, ok)
        for seed, both in passes.items()
        for task, ok in zip("ab", both, strict=True)
    ]
    assert metrics.over_seeds(records) == pytest.approx((0.5, 0.5, 3))
    one = metrics.over_seeds(records[:2])
    assert one.mean == 1.0 and isnan(one.std) and one.seeds == 1
    none = metrics.over_seeds([])
    assert isnan(none.mean) and none.seeds == 0


def test_seeds_weigh_the_same_whatever_was_excluded() -> None:
    records = [record("a", 0, True), record("b", 0, False), record("a", 1, True)]
    assert metrics.over_seeds(records).mean == pytest.approx(0.75)


def test_pass_hat_by_hand() -> None:
    """Task a passes 2 of 3 seeds, task b 3 of 3."""
    records = [record("a", s, s != 0) for s in range(3)] + [record("b", s) for s in range(3)]
    found = metrics.pass_hat(records)
    assert found == pytest.approx({1: (2 / 3 + 1) / 2, 2: (1 / 3 + 1) / 2, 3: 1 / 2})
    with_short = metrics.pass_hat([*records, record("c", 0)])
    assert with_short[1] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert with_short[3] == pytest.approx(1 / 2)
    assert metrics.pass_hat([]) == {}


def test_strategies_planned_and_realized() -> None:
    gone = {"transferred": True, "viable_unused": True}
    records = [
        record("a", scenario="S1", realized="S1"),
        record("b", scenario="S1", realized=None, success=False),
        record("c", scenario="S2", realized="S1", success=False, transferred=True),
        record("d", scenario="S2", realized="S2", success=False, **gone),
        record("e", scenario="S2", realized="S2", gold_transfer=True, **gone),
    ]
    planned = metrics.strategy(records, "planned")
    assert planned.success == {"S1": Rate(1, 2), "S2": Rate(1, 3)}
    assert planned.unused == {"S1": Rate(0, 2), "S2": Rate(1, 3), "total": Rate(1, 5)}
    assert planned.transferred == {"S1": Rate(0, 2), "S2": Rate(2, 3), "total": Rate(2, 5)}
    realized = metrics.strategy(records, "realized")
    assert realized.success == {"S1": Rate(1, 2), "S2": Rate(1, 2)}
    assert realized.unused["total"] == Rate(1, 4)
    assert realized.transferred == {"S1": Rate(1, 2), "S2": Rate(1, 2), "total": Rate(2, 4)}


def test_an_episode_counts_once_under_each_type_it_met() -> None:
    records = [
        record("a", faults=[row("timeout"), row("timeout"), row("stale")]),
        record("b", success=False, faults=[row("timeout")]),
        record("c", faults=[row(None, "partial")]),
        record("d", success=False, faults=[row("gremlin")]),
    ]
    found = metrics.pass_by_error_type(records)
    assert found["timeout"] == Rate(1, 2)
    assert found["stale"] == Rate(1, 1)
    assert found["partial"] == Rate(0, 0)
    assert next(iter(found)) == "timeout" and list(found)[-1] == "gremlin"
    assert len(found) == 10


def test_the_ledger_from_planned_to_reacted() -> None:
    records = [
        record(faults=[row("timeout"), row("timeout", reaction="switch"), row(None, "partial")]),
        record(faults=[row("timeout", seen=False, reaction="none")]),
        record(faults=[row("auth_error", "blocked", reaction="other")]),
    ]
    found = metrics.ledger(records)
    assert list(found) == ["timeout", "partial", "blocked"]
    assert found["timeout"][:3] == (3, 3, 2)
    assert dict(found["timeout"].reactions) == {"retry": 1, "switch": 1}
    assert found["partial"][:3] == (1, 0, 0)
    assert dict(found["blocked"].reactions) == {"other": 1}


def test_exercised_means_that_something_landed() -> None:
    records = [
        record(faults=[row("timeout")]),
        record(faults=[row(None, "partial")]),
        record(faults=[]),
    ]
    assert metrics.exercised(records) == Rate(1, 3)


def test_adoption_is_per_seen_silent_fault() -> None:
    changed = {"changes": [["total", 40.0, 44.0]], "wrong": 1}
    records = [
        record(faults=[row("factual_error", adopted=2, **changed), row("stale", **changed)]),
        record(faults=[row("timeout"), row("stale", seen=False, adopted=0, **changed)]),
        record(faults=[row("partial", changes=[["items", [1], []]])]),
    ]
    assert metrics.adoption(records) == Rate(1, 2)


def test_abstention_is_over_s3_only() -> None:
    records = [
        record(scenario="S3", abstained=True),
        record(scenario="S3"),
        record(scenario="S1", abstained=True),
    ]
    assert metrics.abstention(records) == Rate(1, 2)


def test_means_and_totals() -> None:
    records = [record(steps=10), record(steps=13, tokens=None, duplicate_attempts=2)]
    assert metrics.mean(records, "steps") == 11.5
    assert isnan(metrics.mean(records, "tokens"))
    assert metrics.totals(records, "duplicate_attempts") == 2


def test_cells_are_counted_once_for_all_agents() -> None:
    records = [
        record("a", agent=agent, status=status, reason=reason)
        for agent in ("x", "y")
        for status, reason in (("ok", ""),)
    ] + [
        record("b", agent="x", status="not_applicable", reason="no class", scenario="S2"),
        record("b", agent="y", status="not_applicable", reason="no class", scenario="S2"),
        record("c", agent="x", status="infra_error", reason="boom"),
    ]
    found = metrics.cells(records)
    assert found["inject", "S1"] == {("certified", ""): 2}
    assert found["inject", "S2"] == {("not_applicable", "no class"): 1}


def test_a_share_of_nothing_is_not_a_number() -> None:
    assert isnan(Rate(0, 0).share)
    assert Rate(1, 4).share == 0.25
