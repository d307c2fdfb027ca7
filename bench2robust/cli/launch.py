"""``bench2robust launch``: a training run as a job."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from bench2robust.cli.options import OutOption
from bench2robust.cli.show import print_error, print_tables
from bench2robust.cli.train import ConfigOption, SetOption, read_settings
from bench2robust.core.errors import UnknownNameError
from bench2robust.training.dryrun import plan_run
from bench2robust.training.launch.submitting import Backend, render, submit

__all__ = ["launch"]


def launch(
    config: ConfigOption,
    backend: Annotated[
        str,
        typer.Option(
            "--backend", "-b", help="slurm, submitit, kubernetes, skypilot, or local (runs here)."
        ),
    ] = "slurm",
    set_: SetOption = None,
    out: OutOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the job script, and submit nothing.")
    ] = False,
) -> None:
    """Submit a training run as a job: one or many nodes, requeued when it is preempted.

    What the job needs is under `launch` and `hardware` of the same configuration. The settings are
    checked first, and the estimates of memory and time printed.

    For example:

    * `bench2robust launch --config configs/train/qwen3_4b_paper.yaml --dry-run`
    * `bench2robust launch --config configs/train/qwen3_4b_paper.yaml --set hardware.nodes=4`
    * `bench2robust launch --config configs/train/cpu_demo.yaml --backend local`
    """
    chosen = _backend(backend)
    settings = read_settings(config, set_, out)
    plan = plan_run(settings)
    if dry_run:
        print(render(settings, chosen)[1], end="")
        return
    print_tables(plan.tables)
    for note in plan.notes:
        print(f"note: {note}")
    done = submit(settings, chosen)
    print(done.text or f"the files of the job are in {done.job.folder}")
    if done.code:
        print_error(f"The job ended with exit code {done.code}; the run is in {settings.folder}.")
        raise typer.Exit(done.code)


def _backend(name: str) -> Backend:
    for known in get_args(Backend):
        if name == known:
            found: Backend = known
            return found
    raise UnknownNameError("backend", name, get_args(Backend))
