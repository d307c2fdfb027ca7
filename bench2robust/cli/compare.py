"""``bench2robust compare A B``: paired statistics of two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from bench2robust.cli.show import print_tables
from bench2robust.evaluation.compare import compare_runs
from bench2robust.evaluation.compare_table import comparison_tables

__all__ = ["compare"]


def compare(
    a: Annotated[Path, typer.Argument(help="Folder of the first run.")],
    b: Annotated[Path, typer.Argument(help="Folder of the second run; may be the first again.")],
    agent_a: Annotated[
        str | None, typer.Option(help="Which agent of A; may be left out if A has one.")
    ] = None,
    agent_b: Annotated[
        str | None, typer.Option(help="Which agent of B; may be left out if B has one.")
    ] = None,
    modes: Annotated[
        str, typer.Option(help="Compare only these, separated by commas; by default all.")
    ] = "",
    exclude_flagged: Annotated[
        bool,
        typer.Option(
            "--exclude-flagged", help="Set aside pairs with a simulator fault in either arm."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print every figure as JSON.")] = False,
) -> None:
    """Compare two runs (arms, checkpoints, memory on and off) over the same tasks and seeds.

    Both must be over the same domain and data, with the same tasks, seeds and modes. Infrastructure
    errors are counted apart, never as failures.

    For example:

    * `bench2robust compare runs/without-memory runs/with-memory`
    * `bench2robust compare runs/demo runs/demo --agent-a scripted:naive --agent-b scripted:retry`
    """
    chosen = [mode.strip() for mode in modes.split(",") if mode.strip()]
    comparison = compare_runs(a, b, (agent_a, agent_b), chosen, exclude_flagged)
    if as_json:
        typer.echo(orjson.dumps(comparison, default=list, option=orjson.OPT_INDENT_2))
    else:
        print_tables(comparison_tables(comparison))
