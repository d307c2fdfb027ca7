"""``bench2robust study``: variants of one training run, compared over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.options import DryRunOption, OutOption
from bench2robust.cli.show import print_error, print_tables
from bench2robust.evaluation.config_files import as_text
from bench2robust.training.preemption import REQUEUE, PreemptedError

__all__ = ["study"]


def study(
    config: Annotated[
        Path,
        typer.Option("--config", help="A YAML file with a study, such as those of configs/study."),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of the study, such as seeds=[0]; may be repeated."),
    ] = None,
    out: OutOption = None,
    dry_run: DryRunOption = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Train nothing: compare the runs that are finished.")
    ] = False,
) -> None:
    """Train every arm of a study with every seed, and compare them on the same held-out cells.

    It can be stopped at any time: the same command goes on with the run that was under way. Parts
    can run side by side; the tables of a whole study are also written to table.md in its folder.

    For example:

    * `bench2robust study --config configs/study/cpu_demo.yaml --dry-run`
    * `bench2robust study --config configs/study/cpu_demo.yaml --set seeds=[0]`
    * `bench2robust study --config configs/study/cpu_demo.yaml --tables`
    """
    from bench2robust.training.study import (
        compare_arms,
        list_runs,
        load_study,
        run_study,
        write_tables,
    )

    made = load_study(config, [*(set_ or ()), *([as_text("out", out)] if out else ())])
    whole = load_study(config).is_part_of(made)
    if dry_run:
        print_tables([list_runs(made)])
        return
    if tables:
        compared = compare_arms(made)
        if whole:
            write_tables(made, compared)
        print_tables(compared)
        return
    from bench2robust.training import run  # needs torch: only here

    try:
        result = run_study(made, run)
    except KeyboardInterrupt:
        print_error("Stopped. The same command goes on from the last checkpoint.")
        raise typer.Exit(130) from None
    except PreemptedError as error:
        print_error(f"{error} The same command goes on.")
        raise typer.Exit(REQUEUE) from None
    if whole:
        write_tables(made, result.tables)
    print_tables(result.tables)
    print(f"This call took {result.seconds:.0f} s.")
