from __future__ import annotations

from typing import Any

import pytest

from bench2robust.cli import show
from bench2robust.evaluation.table import Table

TABLE = Table("t", "Pass [rate]", ("Agent", "Pass"), (("a[b]", "43.8 ± 1.6"),), "A [note].")


def test_tables_are_markdown_where_there_is_no_terminal(capsys: Any) -> None:
    show.print_tables([TABLE])
    assert "| a[b] | 43.8 ± 1.6 |" in capsys.readouterr().out


def test_tables_are_drawn_on_a_terminal_and_brackets_survive(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    show.print_tables([TABLE])
    out = capsys.readouterr().out
    assert "| a[b] |" not in out
    for part in ("Pass [rate]", "a[b]", "43.8 ± 1.6", "A [note]."):
        assert part in out


def test_errors_go_to_stderr_with_their_brackets(capsys: Any) -> None:
    show.print_error("wrong [value] here")
    assert capsys.readouterr().err.strip() == "wrong [value] here"


def test_progress_is_plain_lines_with_rate_and_time_left(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([100.0, 101.0, 110.0, 110.0, 111.0])
    monkeypatch.setattr(show, "monotonic", lambda: next(now))
    with show.progress_bar("episodes", 400) as progress:
        progress(51)
        progress(150)
        progress(151)
    assert capsys.readouterr().err == "episodes: 150 of 400 (10/s, 25 s left)\n"


def test_progress_is_a_bar_on_a_terminal(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with show.progress_bar("episodes", 3) as progress:
        progress(3)
    assert "3/3" in capsys.readouterr().err
