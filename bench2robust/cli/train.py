"""``bench2robust train``: a policy that retries, switches or abstains."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.options import OutOption
from bench2robust.cli.show import print_error, print_tables
from bench2robust.evaluation.config_files import as_text
from bench2robust.training.config import TrainSettings, load_settings
from bench2robust.training.dryrun import plan_run
from bench2robust.training.preemption import REQUEUE, PreemptedError
from bench2robust.training.targets import read_targets

__all__ = ["ConfigOption", "SetOption", "read_settings", "train"]

ConfigOption = Annotated[
    Path,
    typer.Option("--config", help="A YAML file with settings, such as those of configs/train."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any setting, such as seed=1 or optim.steps=40; may be repeated."),
]


def train(
    config: ConfigOption,
    set_: SetOption = None,
    out: OutOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and needed, and stop.")
    ] = False,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            "--at-least",
            help="MODE=SHARE, such as S1=0.5: fail if the final policy, sampled, passes fewer of "
            "the held-out tasks. Repeatable.",
        ),
    ] = None,
) -> None:
    """Train a policy under controlled faults.

    A run can be stopped at any time: the same command goes on from its last checkpoint. Exit code
    75 says that a scheduler ended the run early and that it can go on, 1 that a share asked for by
    --at-least was missed.

    For example:

    * `bench2robust train --config configs/train/cpu_demo.yaml`
    * `bench2robust train --config configs/train/qwen3_4b_paper.yaml --dry-run`
    * `bench2robust train --config configs/train/recovery_ppo.yaml --set seed=1`
    """
    settings = read_settings(config, set_, out)
    targets = read_targets(at_least or (), settings)
    plan = plan_run(settings)
    if os.environ.get("RANK", "0") == "0":  # of several processes one says it
        print_tables(plan.tables)
        for note in plan.notes:
            print(f"note: {note}")
    if not dry_run:
        _run(settings)
        ranks = import_module("bench2robust.training.ranks")
        if ranks.processes().is_main_process:  # it alone examines the policy
            _judge(targets.missed(settings.folder))
        ranks.leave()


def read_settings(config: Path, set_: list[str] | None, out: str | None) -> TrainSettings:
    """Return the settings of a file with the flags of a command over it."""
    given = [*(set_ or ()), *([as_text("out", out)] if out else ())]
    return load_settings(config, given)


def _run(settings: TrainSettings) -> None:
    home = "bench2robust.training.ppo.run" if settings.method == "ppo" else "bench2robust.training"
    try:
        print_tables(import_module(home).run(settings))
    except KeyboardInterrupt:
        print_error(f"Stopped. The same command goes on from the checkpoint in {settings.folder}.")
        raise typer.Exit(130) from None
    except PreemptedError as error:
        print_error(f"{error} The same command goes on.")
        raise typer.Exit(REQUEUE) from None


def _judge(missed: Sequence[str]) -> None:
    for text in missed:
        print_error(text)
    if missed:
        raise typer.Exit(1)
