"""The job through submitit, which requeues it on Slurm, or runs it here where there is no Slurm."""

from __future__ import annotations

import os
from typing import Any

import submitit
from submitit.helpers import Checkpointable, DelayedSubmission

from bench2robust.core.errors import Bench2RobustError
from bench2robust.training.launch.job import STOP, Job, Places, to_yaml
from bench2robust.training.launch.local import run_here
from bench2robust.training.preemption import REQUEUE

__all__ = ["NodeTask", "described", "hand_over"]

PLACES = Places(rank='"$NODE_RANK"', head='"$HEAD"')


class NodeTask(Checkpointable):
    """One node's part of a job, as submitit pickles it.

    submitit calls :meth:`checkpoint` when the job is about to be ended, and requeues what it
    returns.
    """

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self) -> int:
        """Run the node's part.

        Raises:
            Bench2RobustError: it failed.
        """
        here = submitit.JobEnvironment()
        places = {"NODE_RANK": str(here.node), "HEAD": str(here.hostnames[0])}
        code = run_here(self.job, PLACES, places)
        if code not in (0, REQUEUE):
            raise Bench2RobustError(f"training ended with exit code {code}")
        return code

    def checkpoint(self) -> DelayedSubmission:
        """Ask the run to stop at its next iteration, and have this task submitted again."""
        (self.job.folder / STOP).touch()
        return DelayedSubmission(self)


def _parameters(job: Job) -> dict[str, Any]:
    launch, hardware = job.settings.launch, job.settings.hardware
    values: dict[str, Any] = {
        "name": launch.name,
        "nodes": hardware.nodes,
        "tasks_per_node": 1,
        "gpus_per_node": hardware.devices,
        "cpus_per_task": launch.cpus,
        "timeout_min": launch.minutes,
        "slurm_partition": launch.partition,
        "slurm_account": launch.account,
        "slurm_qos": launch.qos,
        "slurm_constraint": launch.constraint,
        "slurm_signal_delay_s": launch.grace,
    }
    if launch.memory:
        values["mem_gb"] = launch.memory
    return {name: value for name, value in values.items() if value is not None}


def described(job: Job) -> str:
    """Return what submitit is asked for."""
    folder, command = str(job.folder), job.command(PLACES)
    return to_yaml({"folder": folder, "parameters": _parameters(job), "command": command})


def hand_over(job: Job) -> str:
    """Submit the job; return what to call it."""
    executor = submitit.AutoExecutor(
        folder=job.folder / "submitit",
        slurm_max_num_timeout=job.settings.launch.requeues,
        slurm_python=job.settings.launch.python,
    )
    executor.update_parameters(**_parameters(job))
    submitted = executor.submit(NodeTask(job))
    return f"{executor.cluster} job {submitted.job_id}, logs in {os.fspath(submitted.paths.folder)}"
