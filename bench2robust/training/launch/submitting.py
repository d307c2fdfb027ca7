"""Writing a job's files, and handing it to whoever runs it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from bench2robust.core.errors import Bench2RobustError, UsageError
from bench2robust.evaluation.files import replace_file
from bench2robust.training.config import TrainSettings
from bench2robust.training.launch.job import Job, Places, make_job
from bench2robust.training.launch.kubernetes import kubernetes_manifest
from bench2robust.training.launch.local import node_script, run_here
from bench2robust.training.launch.skypilot import skypilot_task
from bench2robust.training.launch.slurm import slurm_script

__all__ = ["Backend", "Submitted", "render", "submit"]

Backend = Literal["slurm", "submitit", "kubernetes", "skypilot", "local"]
Render: TypeAlias = Callable[[Job], str]

HERE = Places(rank="0", head="127.0.0.1")


class _Way(NamedTuple):
    """How one backend is served.

    Attributes:
        file: what its script is called.
        render: makes it.
        command: takes the script's path as its last word; None where this program runs the job.
        mounted: the job runs in a container.
    """

    file: str
    render: Render
    command: tuple[str, ...] | None
    mounted: bool = False


def _submitit_parameters(job: Job) -> str:
    from bench2robust.training.launch.submitit_backend import described

    return described(job)


_BACKENDS: Mapping[Backend, _Way] = {
    "slurm": _Way("job.sh", slurm_script, ("sbatch",)),
    "submitit": _Way("submitit.yaml", _submitit_parameters, None),
    "kubernetes": _Way("job.yaml", kubernetes_manifest, ("kubectl", "create", "-f"), True),
    "skypilot": _Way("task.yaml", skypilot_task, ("sky", "jobs", "launch", "--yes"), True),
    "local": _Way("job.sh", lambda job: node_script(job, HERE) + "\n", None),
}


class Submitted(NamedTuple):
    """What became of a job.

    Attributes:
        text: what the scheduler said.
        code: the exit code of a job that ran here; 0 for one that was handed over.
    """

    job: Job
    text: str
    code: int = 0


def render(settings: TrainSettings, backend: Backend) -> tuple[Job, str]:
    """Return the job, and the script that describes it to a backend."""
    way = _BACKENDS[backend]
    job = make_job(settings, way.mounted)
    return job, way.render(job)


def submit(settings: TrainSettings, backend: Backend) -> Submitted:
    """Write the files of a job and hand it over; with ``local``, run it and wait.

    Raises:
        UsageError: the backend's program is not on this machine, or the job needs more machines
            than this one.
        Bench2RobustError: the scheduler refuses the job.
    """
    way = _BACKENDS[backend]
    if backend == "local" and settings.hardware.nodes > 1:
        raise UsageError(
            f"hardware.nodes is {settings.hardware.nodes} and the backend local is one machine: "
            "set hardware.nodes=1, or take another backend."
        )
    if way.command and not shutil.which(way.command[0]):
        raise UsageError(
            f"{way.command[0]} is not on this machine: submit where it is, write the script out "
            "with --dry-run, or take the backend local."
        )
    job, script = render(settings, backend)
    job.folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**job.files(), way.file: script}.items():
        replace_file(job.folder / name, [text.encode()])
    if backend == "local":
        return Submitted(job, "", run_here(job, HERE))
    if backend == "submitit":
        from bench2robust.training.launch.submitit_backend import hand_over

        return Submitted(job, hand_over(job))
    assert way.command is not None
    return Submitted(job, _told([*way.command, str(job.folder / way.file)]))


def _told(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Bench2RobustError(f"{command[0]} refuses the job: {done.stderr.strip()}")
    return done.stdout.strip()
