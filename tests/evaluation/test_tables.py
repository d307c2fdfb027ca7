from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.evaluation.metrics import Rate, Spread
from bench2robust.evaluation.table import Table, counted, number, percent, spread
from bench2robust.evaluation.tables import detail_tables, summary_tables

NAN = float("nan")


def test_numbers() -> None:
    assert percent(Rate(1, 3)) == "33.3" and percent(Rate(0, 0)) == "—"
    assert counted(Rate(1, 3)) == "33.3 (3)" and counted(Rate(0, 0)) == "—"
    assert spread(Spread(0.4, 0.0162, 5)) == "40.0 ± 1.6"
    assert spread(Spread(0.4, NAN, 1)) == "40.0" and spread(Spread(NAN, NAN, 0)) == "—"
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
    assert tables["pass_rates"].columns == ("Agent", "Clean", "Inject", "Inject + alt")
    assert tables["pass_rates"].rows == (("hand", "100.0", "100.0", "100.0"),)
    assert tables["strategies_realized"].rows[0][:3] == ("hand", "—", "100.0 (1)")
    assert ("timeout", "100.0 (1)") in tables["error_types"].rows
    assert tables["severity"].rows == (("Inject, B=1", "0.0"),)
    assert tables["ledger"].rows[0] == ("hand", "timeout", "2", "2", "2", "1", "0", "0", "1", "0")
    assert tables["honesty"].rows[-1][:2] == ("hand", "S3")
    assert tables["honesty"].rows[-1][-1] == "100.0 (1)"
    assert tables["cells"].rows[0][:5] == ("Inject", "S1", "1", "0", "0")
    assert tables["efficiency"].rows[0][1:4] == ("100.0", "—", "4.0")
    assert tables["pass_hat"].rows[0] == ("hand", "Clean", "100.0")


def test_tasks_that_need_a_judge_have_rows_of_their_own(records: list[Any]) -> None:
    judged = [{**r, "flags": ["needs_judge"], "success": False} for r in records]
    rows = found([*records, *judged])["pass_rates"].rows
    assert [row[:2] for row in rows] == [("hand", "100.0"), ("hand (needs judge)", "0.0")]


def test_tables_with_nothing_to_show_are_left_out(records: list[Any]) -> None:
    clean = [r for r in records if r["mode"] == "clean"]
    assert set(found(clean)) == {"pass_rates", "honesty", "efficiency", "pass_hat"}
    assert found([]) == {}
