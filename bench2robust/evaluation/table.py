"""A table of text, and its forms as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from bench2robust.evaluation.metrics import Rate, Spread

__all__ = ["RUN_TABLES", "Table", "counted", "number", "percent", "points", "probability", "spread"]

NOTHING = "—"
"""Stands where nothing was counted."""


RUN_TABLES = (
    "pass_rates",
    "training",
    "strategies_realized",
    "memory_variants",
    "severity",
    "faults",
    "honesty",
    "monitor_arms",
    "receipts",
    "detection",
    "detection_kinds",
    "false_positives",
    "placement",
    "reviews",
    "loops",
    "cells",
    "models",
    "requests",
    "simulators",
    "users",
    "strategies_planned",
    "error_types",
    "efficiency",
    "pass_hat",
    "ledger",
)
"""The names of the tables of a run, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; every cell is text.

    Attributes:
        name: a short name for files.
        note: what a reader must know, below the table.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether every cell is a figure: such columns are set right."""
        return tuple(
            all(row[i] == NOTHING or row[i].lstrip("+-<.")[:1].isdecimal() for row in self.rows)
            for i in range(len(self.columns))
        )

    def markdown(self) -> str:
        """Return the table as Markdown, with title and note."""
        rule = tuple("---:" if right else "---" for right in self.numeric)
        lines = [_line(row) for row in (self.columns, rule, *self.rows)]
        parts = [f"### {self.title}", "\n".join(lines), self.note]
        return "\n\n".join(part for part in parts if part) + "\n"

    def csv(self) -> str:
        """Return the table as CSV, header first."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows((self.columns, *self.rows))
        return out.getvalue()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def percent(rate: Rate) -> str:
    """Return ``43.8``."""
    return number(100 * rate.share)


def counted(rate: Rate) -> str:
    """Return ``43.8 (402)``: the share and of how many."""
    return f"{percent(rate)} ({rate.total})" if rate.total else NOTHING


def spread(value: Spread) -> str:
    """Return ``43.8 ± 1.6``, or ``43.8`` for one seed."""
    if isnan(value.std):
        return number(100 * value.mean)
    return f"{100 * value.mean:.1f} ± {100 * value.std:.1f}"


def number(value: float, digits: int = 1) -> str:
    """Return ``12.3``."""
    return NOTHING if isnan(value) else f"{value:.{digits}f}"


def points(difference: float) -> str:
    """Return ``-4.6``, the difference of two shares in percentage points, with its sign."""
    return NOTHING if isnan(difference) else f"{100 * difference:+.1f}"


def probability(value: float) -> str:
    """Return ``0.0123``, or ``<.0001`` for what four digits cannot show."""
    return "<.0001" if value < 0.0001 else number(value, 4)
