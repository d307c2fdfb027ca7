"""The configurations of the paper's tables: each prints its table in the paper's shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench2robust.core.faults import OBSERVABLE, SILENT

CONFIGS = Path(__file__).parents[2] / "configs" / "eval"
MODES = ("Clean", "Inject", "Inject + alt")
TRIO = ("scripted:naive", "scripted:retry", "scripted:cautious")
CHANGES = ("Δ scripted:retry", "Δ scripted:cautious")
PER_MODE = ("pass", "tokens", "steps", "simulated s")


class Shape(NamedTuple):
    """What a table looks like: its columns, and the first cells of its rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def four_way(base: str, trained: str) -> Shape:
    marks = [(base, "✗", "✗"), (base, "✗", "✓"), (trained, "✓", "✗"), (trained, "✓", "✓")]
    return Shape("(tables 1 and 6)", ("Agent", "Train BTM", "Infer BTM", *MODES), marks)


def variants(mode: str) -> list[tuple[str, ...]]:
    marks = {
        "Base (no memory)": "✗✗",
        "Placebo (same length)": "✗✗",
        "Dynamic only": "✗✓",
        "Static only (P = 0.50)": "✓✗",
        "Full, shuffled": "✓✓",
        "Full, true": "✓✓",
    }
    return [("scripted:memory", mode, name, *mark) for name, mark in marks.items()]


SHAPES = {
    "table1": four_way("scripted:memory", "scripted:retry_switch"),
    "table2": Shape(
        "(table 2)",
        ("Agent", "S1 retry", "S2 switch", "Path unused S1", "S2", "all", "Transfer S1", "S2",
         "all"),
        [(f"scripted:{name}",) for name in ("retry", "retry_switch", "cautious", "escalate")],
    ),
    "table3": Shape(
        "(table 3)",
        ("Agent", "Mode", "Variant", "Static", "Dynamic", "Pass", "Tokens", "Pass, online",
         "Tokens, online"),
        variants("inject") + variants("inject_alt"),
    ),
    "table4": Shape(
        "(table 4)",
        ("Errors", "Error type", *TRIO, *CHANGES),
        [*(("observable", t) for t in OBSERVABLE), *(("silent", t) for t in SILENT)],
    ),
    "table6": four_way("scripted:naive", "scripted:cautious"),
    "table14": Shape(
        "(table 14)",
        ("Setting", *TRIO, *CHANGES),
        [(f"Inject, {setting}",) for setting in (
            "P(clean)=0.60", "P(clean)=0.80", "P(clean)=0.90", "P(clean)=0.95",
            "B=3, K_max=1", "B=5, K_max=2", "B=7, K_max=3",
        )],
    ),
    "table15": Shape(
        "(table 15)",
        ("Agent", *(f"{mode}: {part}" for mode in MODES for part in PER_MODE)),
        [(f"scripted:{name}",) for name in ("naive", "retry", "retry_switch", "cautious")],
    ),
}  # fmt: skip


def printed(out: str) -> tuple[str, list[tuple[str, ...]]]:
    """Return the title of the one table that was printed, and its rows, columns first."""
    (title,) = [line for line in out.splitlines() if line.startswith("### ")]
    lines = [line for line in out.splitlines() if line.startswith("| ")]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return title, [rows[0], *rows[2:]]


def run(cli: Any, config: str, *more: str) -> list[tuple[str, ...]]:
    path = CONFIGS / f"{config}.yaml"
    done = cli("eval", "--config", path, "--tasks", "4", "--seeds", "1", "--out", "run", *more)
    assert done.code == 0, done.err
    title, rows = printed(done.out)
    assert title.endswith(SHAPES[config].title)
    return rows


OF_OTHERS = {"table5", "table7"}
"""They are about benchmarks whose packages are tested in environments of their own."""


def test_every_configuration_of_a_table_is_here() -> None:
    assert {path.stem for path in CONFIGS.glob("table*.yaml")} == SHAPES.keys() | OF_OTHERS


@pytest.mark.parametrize("config", SHAPES)
def test_the_table_has_the_shape_of_the_paper(cli: Any, tmp_path: Path, config: str) -> None:
    columns, *rows = run(cli, config)
    shape = SHAPES[config]
    assert columns == shape.columns
    assert [row[: len(shape.rows[0])] for row in rows] == list(shape.rows)
    assert all(len(row) == len(columns) for row in rows)
    assert "### Efficiency" in (tmp_path / "run" / "tables.md").read_text()  # the others are there


def test_differences_are_to_the_agent_before(cli: Any) -> None:
    _, *rows = run(cli, "table14")
    for row in rows:
        naive, retry, cautious, up, further = map(float, row[1:])
        assert math.isclose(retry - naive, up, abs_tol=0.11)
        assert math.isclose(cautious - retry, further, abs_tol=0.11)
    assert any(row[4] != "+0.0" for row in rows)


def test_a_block_helps_the_agent_that_reads_it(cli: Any) -> None:
    _, without, with_block, *habits = run(cli, "table1", "--tasks", "20")
    assert without[3] == with_block[3] == "100.0"
    assert all(float(with_block[i]) > float(without[i]) for i in (4, 5))
    assert habits[0][3:] == habits[1][3:]  # one that reads none plays the same with it


def test_who_was_trained_can_be_changed_and_is_checked(cli: Any, tmp_path: Path) -> None:
    other = ("--agent", "scripted:retry", "--memory", "none,static")
    done = cli("eval", "--config", CONFIGS / "table1.yaml", "--tasks", "2", "--seeds", "1", *other)
    rows = printed(done.out)[1][1:]
    assert [row[:3] for row in rows] == [
        ("scripted:retry", "✗", "✗"),
        ("scripted:retry", "✗", "✓ static"),
    ]
    assert "names scripted:retry_switch, which did not play" in done.out
    done = cli("eval", "--set", "trained_with_memory=scripted:rety")
    assert done.code == 2 and "'scripted:retry'" in done.err


def test_a_table_without_rows_is_said_and_an_unknown_one_refused(cli: Any) -> None:
    small = ("--tasks", "2", "--seeds", "1", "--modes", "clean")
    done = cli("eval", *small, "--set", "tables=severity,pass_rates")
    assert done.code == 0 and "nothing to show in the tables severity" in done.out
    assert printed(done.out)[1][0] == ("Agent", "Clean")
    done = cli("eval", *small, "--set", "tables=sevrity")
    assert done.code == 2 and "'severity'" in done.err


def test_what_is_shown_can_change_after_a_run_and_is_in_the_report(
    cli: Any, tmp_path: Path
) -> None:
    run(cli, "table1")
    command = ("eval", "--config", CONFIGS / "table1.yaml", "--tasks", "4", "--seeds", "1")
    done = cli(*command, "--out", "run", "--set", "tables=pass_rates")
    assert done.code == 0 and "0 episodes in" in done.out
    assert printed(done.out)[0].endswith("(table 1)")
    assert cli("report", "run").code == 0
    page = (tmp_path / "run" / "report.html").read_text()
    head = page.index("Train BTM")
    places = [page.index(f">scripted:{name}<", head) for name in ("memory", "retry_switch")]
    assert places == sorted(places)
