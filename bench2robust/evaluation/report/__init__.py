"""The report of one or more runs: one HTML file, with an episode browser in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.report.load import load
from bench2robust.evaluation.report.page import page

__all__ = ["write_report"]


def write_report(runs: Sequence[Path], out: Path) -> int:
    """Write the report of ``runs`` to ``out`` and return how many episodes it holds.

    Raises:
        DataError: a folder is not that of a run.
        UsageError: a folder is given twice, or there is no episode.
    """
    loaded = load(runs)
    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, [page(loaded).encode()])
    return len(loaded.records)
