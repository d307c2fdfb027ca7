"""Output: tables for people on a terminal and Markdown elsewhere, errors, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from bench2robust.evaluation.table import Table

__all__ = ["print_error", "print_tables", "progress_bar"]

DRAW_SECONDS = 0.1
LINE_SECONDS = 5.0


def print_error(text: str) -> None:
    """Print one error in red to stderr."""
    Console(stderr=True, soft_wrap=True).print(f"[red]{escape(text)}[/red]")


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables, drawn if stdout is a terminal and as Markdown if not."""
    console = Console()
    for table in tables:
        if console.is_terminal:
            console.print(_drawn(table))
        else:
            print(table.markdown())


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(
        title=escape(table.title),
        title_justify="left",
        caption=escape(table.note),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for position, (column, right) in enumerate(zip(table.columns, table.numeric, strict=True)):
        drawn.add_column(
            escape(column),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=position < 2,  # what a row is about must stay readable on a narrow terminal
        )
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr: a bar with rate and time left on a terminal, else plain lines.

    Yields:
        A function to call with how many of ``total`` are done; it may be called very often.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Meter(LINE_SECONDS, lambda done, rate: _print_line(title, done, total, rate))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TextColumn("{task.fields[rate]}"), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total, rate="")
        meter = _Meter(
            DRAW_SECONDS,
            lambda done, rate: bar.update(task, completed=done, rate=f"{rate:,.0f}/s"),
        )
        yield meter
        meter.draw()


def _print_line(title: str, done: int, total: int, rate: float) -> None:
    left = f", {(total - done) / rate:,.0f} s left" if rate > 0 else ""
    print(f"{title}: {done:,} of {total:,} ({rate:,.0f}/s{left})", file=sys.stderr, flush=True)


class _Meter:
    """Counts every call, and shows count and rate only so often."""

    def __init__(self, seconds: float, show: Callable[[int, float], None]) -> None:
        self._seconds = seconds
        self._show = show
        self._began = monotonic()
        self._due = self._began + seconds
        self._first = -1
        self._last = 0

    def __call__(self, done: int) -> None:
        if self._first < 0:
            self._first = done - 1
        self._last = done
        if monotonic() >= self._due:
            self.draw()

    def draw(self) -> None:
        now = monotonic()
        self._due = now + self._seconds
        self._show(self._last, (self._last - max(self._first, 0)) / max(now - self._began, 1e-9))
