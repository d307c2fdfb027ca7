from __future__ import annotations

from typing import Any

import pytest

from bench2robust.evaluation.report import figures
from bench2robust.evaluation.statistics import wilson


def test_a_gap_is_paired_by_task_and_seed(record: Any) -> None:
    clean = [record(mode="clean", task=f"t{i}", seed=s) for i in range(10) for s in (0, 1)]
    faulted = [record(task=f"t{i}", seed=s, success=i >= 4) for i in range(10) for s in (0, 1)]
    stray = record(task="elsewhere", success=False)
    (gap,) = figures.gaps([*faulted, stray, *clean])
    assert list(gap.points) == ["clean", "inject"]
    assert gap.points["inject"].share == pytest.approx(12 / 21)
    change = gap.changes["inject"]
    assert (change.difference, change.pairs) == (-0.4, 20)
    assert -0.9 < change.interval.low < -0.4 < change.interval.high < -0.05


def test_an_interval_where_all_tasks_agree_is_no_point(record: Any) -> None:
    point = figures.by_task([record(task=f"t{i}") for i in range(20)])
    assert (point.share, point.interval.high) == (1.0, 1.0)
    assert point.interval.low == pytest.approx(0.025 ** (1 / 20))


def test_the_interval_takes_tasks_not_seeds_as_independent(record: Any) -> None:
    few = [record(task=f"t{i}", success=i % 2 == 0) for i in range(20)]
    many = [record(task=f"t{i}", seed=s, success=i % 2 == 0) for i in range(20) for s in range(9)]
    assert figures.by_task(many).interval == figures.by_task(few).interval
    assert figures.by_task(many).total == 180


def test_error_types_have_wilson_intervals(record: Any, fault: Any) -> None:
    rows = [record(task=f"t{i}", success=i < 3, faults=[fault()]) for i in range(8)]
    rows += [record(mode="inject_alt", faults=[fault(delivered="stale")])]
    found = figures.error_types(rows)
    assert set(found) == {"timeout"}
    assert found["timeout"]["a"] == (3 / 8, wilson(3, 8), 8)


def test_the_matrix_counts_abstention_in_s3_and_leaves_sweeps_out(record: Any) -> None:
    rows = [
        record(mode="clean", scenario=None),
        record(mode="inject_alt", scenario="S2", realized="S1", success=False),
        record(mode="s3", scenario="S3", realized="S3", success=False, abstained=True),
        record(mode="inject@x=1"),
    ]
    found = figures.matrix(rows)
    assert {key: rate["a"] for key, rate in found.items()} == {
        ("inject_alt", "planned", "S2"): (0, 1),
        ("inject_alt", "realized", "S1"): (0, 1),
        ("s3", "planned", "S3"): (1, 1),
        ("s3", "realized", "S3"): (1, 1),
    }


def test_sweeps_split_into_panels_with_numbers_to_scale(record: Any) -> None:
    labels = ("P=0.95", "P=0.6", "P=0.80", "B=10, K=3", "B=9, K=2", "plain words")
    panels = figures.curves([record(mode=f"inject@{label}") for label in labels])
    found = {panel.names: (panel.values, panel.places) for panel in panels}
    assert found["P"][0] == ("0.6", "0.80", "0.95")
    assert found["P"][1] == pytest.approx((0, 0.2 / 0.35, 1))
    assert found["B, K"] == (("9, 2", "10, 3"), (0, 1))
    assert found["setting"] == (("plain words",), (0.5,))


def test_a_curve_has_a_hole_where_an_agent_did_not_play(record: Any) -> None:
    rows = [record(mode="inject@P=1"), record(mode="inject@P=2", agent="b")]
    (panel,) = figures.curves(rows)
    assert [point is None for point in panel.curves["a"]] == [False, True]


def test_efforts_are_those_that_somebody_recorded(record: Any) -> None:
    rows = [record(steps=4, cost=0.5), record(steps=6, success=False), record(mode="s3")]
    found = figures.efforts(rows)
    assert set(found) == {"steps", "simulated seconds", "cost"}
    assert found["steps"] == [("a", "inject", 5.0, 0.5)]
    assert found["cost"][0].effort == 0.5
