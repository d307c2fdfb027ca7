from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.evaluation.metrics import Rate, Spread
from bench2robust.evaluation.model_tables import _dependence
from bench2robust.evaluation.table import (
    RUN_TABLES,
    Table,
    counted,
    number,
    percent,
    points,
    spread,
)
from bench2robust.evaluation.tables import detail_tables, summary_tables
from bench2robust.evaluation.training_table import training_table

NAN = float("nan")


def test_numbers() -> None:
    assert percent(Rate(1, 3)) == "33.3" and percent(Rate(0, 0)) == "—"
    assert counted(Rate(1, 3)) == "33.3 (3)" and counted(Rate(0, 0)) == "—"
    assert spread(Spread(0.4, 0.0162, 5)) == "40.0 ± 1.6"
    assert spread(Spread(0.4, NAN, 1)) == "40.0" and spread(Spread(NAN, NAN, 0)) == "—"
    assert points(-0.0456) == "-4.6" and points(0.1) == "+10.0" and points(NAN) == "—"
    assert number(1.25, 0) == "1" and number(NAN) == "—"


def test_forms() -> None:
    table = Table("t", "Title", ("A", "B"), (("x|y", "1"), ('say "hi"', "2, 3")), "Note.")
    assert table.markdown() == (
        '### Title\n\n| A | B |\n| --- | ---: |\n| x\\|y | 1 |\n| say "hi" | 2, 3 |\n\nNote.\n'
    )
    assert list(csv.reader(io.StringIO(table.csv()))) == [
        ["A", "B"], ["x|y", "1"], ['say "hi"', "2, 3"],
    ]  # fmt: skip


@pytest.fixture
def records(play: Any, moves: Any) -> list[Any]:
    """Four episodes with everything in them: clean, injected, blocked, impossible."""
    find, get, refund = moves["find"], moves["get"], moves["refund"]
    phone = ToolCall("find_by_phone", {"phone": "555-0101"})
    down = {"clean": 1.0, "tools": {"find_by_email": {"timeout": 1.0}}, "budget": 1}
    done = "It has been refunded: 40.0."
    s2 = {"scenario": "S2", "side": "primary", "alternatives": True}
    s3 = {"scenario": "S3", "alternatives": True}
    made = {
        "clean": play(find, get, refund, done, scenario=None),
        "inject": play(find, find, get, refund, done, faults=down),
        "inject_alt": play(find, phone, get, refund, done, **s2),
        "s3": play(find, phone, moves["transfer"], **s3),
        "inject@B=1": play(find, moves["transfer"], faults=down),
    }
    return [{**record, "mode": mode} for mode, record in made.items()]


def found(records: list[Any]) -> dict[str, Table]:
    tables = [*summary_tables(records), *detail_tables(records)]
    assert len({t.name for t in tables}) == len(tables)
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows), table.name
    return {table.name: table for table in tables}


def test_every_table_of_a_whole_run(records: list[Any]) -> None:
    tables = found(records)
    rates = tables["pass_rates"]
    gaps = ("Gap: inject", "Gap: inject + alt")
    assert rates.columns == ("Agent", "Clean", "Inject", "Inject + alt", *gaps)
    assert rates.rows == (("hand", "100.0", "100.0", "100.0", "+0.0 (1)", "+0.0 (1)"),)
    assert "scored cells" not in rates.note and "Infra" not in rates.note
    assert "faultable calls that came back clean: hand 0.75." in tables["error_types"].note
    assert "Inject, B=1 0.00." in tables["severity"].note
    assert "block a primary side" in tables["strategies_planned"].note
    assert tables["strategies_realized"].rows[0][:3] == ("hand", "—", "100.0 (1)")
    assert ("observable", "timeout", "100.0 (1)") in tables["error_types"].rows
    assert ("silent", "stale", "—") in tables["error_types"].rows
    assert list(tables) == [name for name in RUN_TABLES if name in tables]
    assert tables["severity"].rows == (("Inject, B=1", "0.0"),)
    assert tables["ledger"].rows[0] == ("hand", "timeout", "2", "2", "2", "1", "0", "0", "1", "0")
    assert tables["honesty"].rows[-1][:2] == ("hand", "S3")
    assert tables["honesty"].rows[-1][-1] == "100.0 (1)"
    assert tables["cells"].rows[0][:6] == ("Inject", "S1", "1", "0", "0", "0")
    assert tables["efficiency"].rows[0][1:4] == ("100.0", "—", "4.0")
    assert tables["pass_hat"].rows[0] == ("hand", "Clean", "100.0")


def test_differences_are_to_the_agent_before(records: list[Any]) -> None:
    worse = [{**r, "agent": "late", "success": False} for r in records]
    tables = found([*records, *worse])
    assert tables["error_types"].columns[2:] == ("hand", "late", "Δ late")
    assert tables["error_types"].rows[0][1:] == ("timeout", "100.0 (1)", "0.0 (1)", "-100.0")
    assert tables["error_types"].rows[1][-1] == "—"
    assert tables["severity"].rows == (("Inject, B=1", "0.0", "0.0", "+0.0"),)


def test_memory_in_training_by_memory_at_inference(records: list[Any]) -> None:
    arms = ("a", "a+full", "a+placebo", "a+static+online", "b", "b+full", "b+full + user chat:u")
    everything: list[Any] = [
        {**r, "agent": arm, "success": "full" in arm} for arm in arms for r in records
    ]
    (table,) = [t for t in summary_tables(everything, ("a", "c")) if t.name == "training"]
    assert table.columns == ("Agent", "Train BTM", "Infer BTM", "Clean", "Inject", "Inject + alt")
    assert [row[:4] for row in table.rows] == [
        ("b", "✗", "✗", "0.0"),
        ("b", "✗", "✓", "100.0"),
        ("b + user chat:u", "✗", "✓", "100.0"),
        ("a", "✓", "✗", "0.0"),
        ("a", "✓", "✓", "100.0"),
        ("a", "✓", "✗ placebo", "0.0"),
        ("a", "✓", "✓ static+online", "0.0"),
    ]
    assert table.note.endswith("names c, which did not play.")


def test_tasks_that_need_a_judge_have_rows_of_their_own(records: list[Any]) -> None:
    judged = [{**r, "flags": ["needs_judge"], "success": False} for r in records]
    rows = found([*records, *judged])["pass_rates"].rows
    assert [row[:2] for row in rows] == [("hand", "100.0"), ("hand (needs judge)", "0.0")]


def test_tables_with_nothing_to_show_are_left_out(records: list[Any]) -> None:
    clean = [r for r in records if r["mode"] == "clean"]
    assert set(found(clean)) == {"pass_rates", "honesty", "efficiency", "pass_hat"}
    assert found([]) == {}


def test_cells_that_differ_between_columns_are_counted(records: list[Any]) -> None:
    more = {**records[0], "seed": 1, "success": False}
    rates = found([*records, more])["pass_rates"]
    assert rates.rows[0][1:5] == ("50.0 ± 70.7 (2)", "100.0 (1)", "100.0 (1)", "+0.0 (1)")
    assert "scored cells" in rates.note
    assert rates.numeric == (False, True, True, True, True, True)


def test_without_clean_there_is_no_gap(records: list[Any]) -> None:
    assert found(records[1:])["pass_rates"].columns == ("Agent", "Inject", "Inject + alt")


def test_broken_episodes_are_shown_and_in_no_rate(records: list[Any]) -> None:
    broken = [
        {**records[1], "seed": 1, "status": "infra_error", "reason": "boom", "success": False},
        {**records[0], "seed": 1, "agent": "other", "status": "infra_error", "success": False},
    ]
    tables = found([*records, *broken])
    assert tables["pass_rates"].rows == found(records)["pass_rates"].rows
    assert "Infra errors" in tables["pass_rates"].note
    assert tables["pass_rates"].note.endswith(": hand 1, other 1.")
    assert tables["cells"].columns[5] == "Infra errors"
    assert tables["cells"].rows[0] == ("Inject", "S1", "1", "0", "0", "1", "boom (1)")


def test_a_monitor_or_user_hides_no_training() -> None:
    played = {"mode": "inject", "task": "t", "seed": 0, "scenario": "S1", "success": True}
    labels = ("a", "b", "b + monitor placebo + user chat:u", "b+full + monitor placebo")
    table = training_table([{**played, "agent": label} for label in labels], ["b"])  # type: ignore[typeddict-item]
    assert [row[1:3] for row in table.rows] == [("✗", "✗"), ("✓", "✗"), ("✓", "✗"), ("✓", "✓")]
    assert "did not play" not in table.note


def test_an_episode_that_broke_down_is_no_episode_of_the_scripted_user() -> None:
    cell = {
        "mode": "inject",
        "task": "t",
        "seed": 0,
        "scenario": "S1",
        "success": True,
        "flags": [],
    }
    lost = {**cell, "status": "infra_error", "agent": "a + user chat:u"}
    users = [{**cell, "status": "ok", "agent": f"a{user}"} for user in ("", " + user chat:v")]
    (row,) = _dependence([*users, lost]).rows  # type: ignore[list-item]
    assert row[:4] == ("a", "scripted, chat:v", "inject", "1")
