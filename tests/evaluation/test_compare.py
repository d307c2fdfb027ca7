from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import Task, UserScript
from bench2robust.domains import get_domain
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.compare import compare_records, compare_runs
from bench2robust.evaluation.compare_table import comparison_tables
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.statistics import exact_mcnemar, holm, least_prevalence, sign_flip
from bench2robust.evaluation.store import Store

TASK = Task("t", "test", "plain", UserScript("hi"), ())
BLANK = RecordBuilder(get_domain("retail")).unplayed("x", "", TASK, 0, None)


def record(
    task: str, passed: bool = False, mode: str = "inject", seed: int = 0, **fields: Any
) -> EpisodeRecord:
    base = {
        "agent": "scripted:x",
        "mode": mode,
        "task": task,
        "seed": seed,
        "scenario": None if mode == "clean" else "S1",
        "status": "ok",
        "flags": [],
        "success": passed,
        "abstained": False,
    }
    return cast(EpisodeRecord, {**BLANK, **base, **fields})


def arm(passes: str, mode: str = "inject", seeds: int = 1) -> list[EpisodeRecord]:
    """Return records from text: ``+`` passed, ``-`` failed, ``!`` lost; task after task."""
    return [
        record(
            f"t{n // seeds}",
            mark == "+",
            mode,
            n % seeds,
            status="infra_error" if mark == "!" else "ok",
        )
        for n, mark in enumerate(passes)
    ]


def test_figures_by_hand() -> None:
    comparison = compare_records(arm("++--+-", seeds=2), arm("+-++++", seeds=2))
    (row,) = comparison.modes
    contrast, effect = row.contrast, row.contrast.effect
    assert (row.mode, row.scenario) == ("inject", "")
    assert (contrast.first, contrast.second, contrast.wins, contrast.losses) == (3, 5, 3, 1)
    assert (effect.tasks, effect.pairs, effect.difference) == (3, 6, pytest.approx(1 / 3))
    assert effect.p_value == sign_flip([-1, 2, 1]) == row.p_holm
    assert contrast.p_mcnemar == exact_mcnemar(3, 1)
    assert comparison.pooled is None
    assert comparison.scenarios == comparison.gaps == comparison.settings == ()


def test_flagged_episodes_are_set_aside_in_both_arms_if_asked() -> None:
    def told(passes: str, *flagged: int) -> list[EpisodeRecord]:
        simulator = {"name": "chat:u", "requests": 1, "tokens": 1, "cost": None}
        flags = [["silent"] if n in flagged else [] for n in range(len(passes))]
        pairs = zip(arm(passes), flags, strict=True)
        return [
            cast(EpisodeRecord, {**r, "simulator": {**simulator, "flags": f}}) for r, f in pairs
        ]

    one, two = told("+-+-+-", 0), told("++++-!", 1, 5)
    whole = compare_records(one, two)
    assert whole.modes == compare_records(arm("+-+-+-"), arm("++++-!")).modes
    kept = compare_records(one, two, exclude_flagged=True)
    assert kept.modes == compare_records(arm("+-+"), arm("++-")).modes
    lost = kept.lost["inject"]
    assert (lost.unscored, lost.second) == ({"flagged": 2}, 1)
    assert any(
        "2 flagged" in cell for t in comparison_tables(kept) for row in t.rows for cell in row
    )
    # A run without such a user has nothing that could be flagged.
    assert compare_records(arm("+-"), arm("++"), exclude_flagged=True).lost["inject"].unscored == {}


def test_what_the_infrastructure_lost_is_never_a_failure() -> None:
    whole = compare_records(arm("+-+-+-"), arm("++++--"))
    comparison = compare_records(arm("+-+-+-!+!-"), arm("++++--+!!!"))
    assert comparison.modes == whole.modes
    lost = comparison.lost["inject"]
    assert (lost.first, lost.second, lost.both, lost.unscored) == (1, 2, 1, {})
    # Scored pairs net +1; the lost ones at worst 1-1, 0-1, 0-1, 0-0, at best 1-0, 1-1, 1-0, 1-0.
    assert lost.extremes == (pytest.approx((1 - 2) / 10), pytest.approx((1 + 3) / 10))
    assert whole.lost["inject"].extremes == (1 / 6, 1 / 6)


def test_pairs_that_are_not_to_be_scored_are_counted_by_reason() -> None:
    aside = {"status": "uncertified"}
    first = [*arm("+-"), record("u", **aside), record("j", True, flags=["needs_judge"])]
    second = [*arm("++"), record("u", True), record("j", True, flags=["needs_judge"])]
    first.append(record("n", status="not_applicable"))
    second.append(record("n", status="infra_error"))
    comparison = compare_records(first, second)
    assert comparison.modes == compare_records(arm("+-"), arm("++")).modes
    assert comparison.lost["inject"].unscored == {
        "uncertified": 1,
        "needs a judge": 1,
        "not_applicable": 1,
    }
    assert comparison.lost["inject"].first == comparison.lost["inject"].second == 0


def test_where_success_is_impossible_abstaining_is_passing() -> None:
    first = [record(f"t{n}", True, "s3", scenario="S3") for n in range(4)]
    second = [record(f"t{n}", False, "s3", scenario="S3", abstained=True) for n in range(4)]
    (row,) = compare_records(first, second).modes
    assert (row.contrast.first, row.contrast.second) == (0, 4)


def test_modes_are_one_family_scenarios_another() -> None:
    first, second = arm("--------", "clean"), arm("+-------", "clean")
    first += arm("--------")
    second += arm("++++++++")
    both = ["S1"] * 4 + ["S2"] * 4
    first += [record(f"t{n}", False, "inject_alt", scenario=s) for n, s in enumerate(both)]
    second += [record(f"t{n}", n > 2, "inject_alt", scenario=s) for n, s in enumerate(both)]
    comparison = compare_records(first, second)
    raw = {row.mode: row.contrast.effect.p_value for row in comparison.modes}
    assert {row.mode: row.p_holm for row in comparison.modes} == holm(raw)
    assert list(raw) == ["clean", "inject", "inject_alt"]
    parts = {row.scenario: row for row in comparison.scenarios}
    assert {row.mode for row in comparison.scenarios} == {"inject_alt"}
    assert (parts["S1"].contrast.wins, parts["S2"].contrast.wins) == (1, 4)
    assert (parts["S1"].p_holm, parts["S2"].p_holm) == (1.0, 2 * 0.125)
    assert comparison.pooled is not None
    assert (comparison.pooled.wins, comparison.pooled.effect.tasks) == (1 + 8 + 5, 8)


def test_change_of_the_gap_by_hand() -> None:
    first = [*arm("++++!-", "clean"), *arm("----+-"), *arm("-+----", "inject_alt")]
    second = [*arm("+++-+-", "clean"), *arm("+-++++"), *arm("-+----", "inject_alt")]
    comparison = compare_records(first, second)
    gap, other = comparison.gaps
    assert (gap.mode, other.mode) == ("inject", "inject_alt")
    # t0: +1, t1: 0, t2: +1, t3: +1 - -1, t4: lost in clean, t5: +1.
    assert (gap.effect.tasks, gap.effect.difference) == (5, pytest.approx(5 / 5))
    assert gap.effect.p_value == sign_flip([1, 0, 1, 2, 1])
    assert other.effect.difference == pytest.approx(1 / 5)
    ps = {g.mode: g.effect.p_value for g in comparison.gaps}
    assert {g.mode: g.p_holm for g in comparison.gaps} == holm(ps)
    low = {row.mode: row.contrast.effect.interval.low for row in comparison.modes}
    assert gap.prevalence == least_prevalence(low["inject"], low["clean"])


def test_a_gap_that_no_task_changes_may_still_change_by_two_points_per_point() -> None:
    records = [*arm("+-" * 10, "clean"), *arm("+-" * 10)]
    (gap,) = compare_records(records, records).gaps
    assert gap.effect.interval.high == pytest.approx(2 * (1 - 0.05 ** (1 / 20)))


def test_no_gap_is_made_of_abstentions() -> None:
    records = [*arm("+-", "clean"), *[record(f"t{n}", mode="s3", scenario="S3") for n in (0, 1)]]
    assert compare_records(records, records).gaps == ()


@settings(deadline=None)
@given(st.text("+-", min_size=12, max_size=12), st.text("+-", min_size=12, max_size=12))
def test_swapping_the_arms_mirrors_every_figure(one: str, two: str) -> None:
    first, second = arm(one, seeds=3), arm(two, seeds=3)
    there = compare_records(first, second).modes[0].contrast
    back = compare_records(second, first).modes[0].contrast
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.effect.difference == -back.effect.difference
    assert there.effect.p_value == back.effect.p_value
    assert there.effect.interval == (-back.effect.interval.high, -back.effect.interval.low)


def test_order_of_records_does_not_matter() -> None:
    first, second = arm("+-+-+-++", seeds=2), arm("++--++-+", seeds=2)
    assert compare_records(first, second) == compare_records(first[::-1], second[3:] + second[:3])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (arm("+-"), arm("+-+"), "1 cells are in the second alone, such as mode inject, task t2"),
        (arm("+-", seeds=2), arm("+"), "1 cells are in the first alone.*seed 1"),
        ([], [], "nothing to compare"),
        (arm("+"), [record("t0", scenario="S2")], "scenario S1 in the first and S2 in the second"),
        (arm("!-"), arm("+!"), "No episode of mode inject is scored in both"),
    ],
)
def test_what_is_not_paired_is_refused(
    first: list[EpisodeRecord], second: list[EpisodeRecord], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare_records(first, second)


def test_modes_can_be_chosen() -> None:
    first, second = [*arm("+-"), *arm("+-", "clean")], [*arm("++"), *arm("+-+", "clean")]
    assert [row.mode for row in compare_records(first, second, modes=["inject"]).modes] == [
        "inject"
    ]
    with pytest.raises(UnknownNameError, match="Did you mean 'inject'"):
        compare_records(first, second, modes=["injct"])


def save(folder: Path, records: Iterable[EpisodeRecord], suite: str = "s", **config: Any) -> Path:
    manifest = make_manifest("eval", config, f"hash of {config}", suite, ())
    with claim_folder(folder, manifest), Store(folder) as store:
        for one in records:
            store.append(one, 0.0)
    return folder


def test_runs_are_read_from_their_folders(tmp_path: Path) -> None:
    a = save(tmp_path / "off", arm("+-+-"), memory=False, agents=["x"], out="off", side="random")
    b = save(tmp_path / "on", arm("++++"), memory=True, agents=["y"], out="on", side="random")
    comparison = compare_runs(a, b)
    assert (comparison.first, comparison.second) == ("off scripted:x", "on scripted:x")
    assert comparison.settings == ("memory: False, True",)
    same = compare_records(arm("+-+-"), arm("++++"))
    assert comparison == replace(
        same, first=comparison.first, second=comparison.second, settings=comparison.settings
    )


def test_agents_of_one_run(tmp_path: Path) -> None:
    records = [record(t, a == "y", agent=a) for a in ("x", "y") for t in ("t0", "t1")]
    run = save(tmp_path / "run", records)
    assert compare_runs(run, run, ("x", "y")).modes[0].contrast.wins == 2
    with pytest.raises(UsageError, match="holds the agents x, y: name one, with --agent-a"):
        compare_runs(run, run, ("x", None))
    with pytest.raises(UnknownNameError, match=r"agent of .*'z'"):
        compare_runs(run, run, ("x", "z"))


def test_different_suites_are_refused(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a", arm("+"), "s1"), save(tmp_path / "b", arm("+"), "s2")
    with pytest.raises(UsageError, match=r"different suites .s1 in .*s2 in"):
        compare_runs(a, b)


def test_tables_show_the_figures() -> None:
    first = [*arm("+" * 40, "clean"), *arm("-" * 20 + "+" * 19 + "!")]
    second = [*arm("+" * 40, "clean"), *arm("+" * 14 + "-" * 6 + "+" * 20)]
    first.append(record("u", status="uncertified"))
    second.append(record("u", status="uncertified"))
    comparison = compare_records(first, second, ("run x", "run y"), (), ("memory: a, b",))
    arms, passes, differences, gaps, lost = comparison_tables(comparison)
    assert arms.rows == (("A", "run x"), ("B", "run y")) and "memory: a, b" in arms.note
    by_mode = {row[0]: row[1:] for row in passes.rows}
    assert by_mode["inject"] == ("39", "39", "48.7", "84.6", "70.0", "14/0", "0.0001")
    assert by_mode["clean"] == ("40", "40", "100.0", "100.0", "—", "0/0", "1.0000")
    assert list(by_mode) == ["clean", "inject", "all modes"]
    by_mode = {row[0]: row[1:] for row in differences.rows}
    effect = comparison.modes[1].contrast.effect
    low, high = (f"{100 * end:+.1f}" for end in effect.interval)
    planned = (f"{100 * effect.detectable:.1f}", f"{effect.tasks_needed(0.05):,}")
    assert by_mode["inject"] == ("+35.9", f"[{low}, {high}]", "0.0001", "0.0002", *planned)
    assert by_mode["clean"] == ("+0.0", "[-7.2, +7.2]", "1.0000", "1.0000", "—", "—")
    assert by_mode["all modes"][3] == "—"
    assert gaps.rows[0][:2] == ("inject", "+35.9")
    assert gaps.rows[0][-1] == f"{100 * comparison.gaps[0].prevalence:.1f}"
    assert lost.rows == (("inject", "1", "0", "0", "+35.0 to +37.5", "1 uncertified"),)
    assert {len(table.columns) for table in (passes, differences, gaps)} == {8, 7}
    for table in comparison_tables(comparison):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_tables_leave_out_what_there_is_not() -> None:
    tables = comparison_tables(compare_records(arm("+-"), arm("-+")))
    assert [table.name for table in tables] == ["arms", "passes", "differences"]
