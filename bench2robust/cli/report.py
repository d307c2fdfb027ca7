"""``bench2robust report``: one HTML file of one or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.core.errors import UsageError
from bench2robust.core.wording import quantity
from bench2robust.evaluation.report import write_report

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; by default report.html in the run."),
    ] = None,
) -> None:
    """Write one HTML file: tables, plots, and a browser of every episode. It works offline.

    With several runs, agents of all of them stand beside one another, and the episodes that they
    share (mode, task and seed) can be read side by side.

    For example:

    * `bench2robust report runs/demo`
    * `bench2robust report runs/before runs/after --out report.html`
    """
    if out is None and len(runs) > 1:
        raise UsageError("Say where the report of several runs goes: --out report.html.")
    path = out or runs[0] / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder: name a file, such as {path}/report.html.")
    count = write_report(runs, path)
    print(f"{quantity(count, 'episode')}, {path.stat().st_size / 1e6:.1f} MB")
    print(path)
