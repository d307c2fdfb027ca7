"""The same job as a SkyPilot task, for managed jobs on clouds and spot machines."""

from __future__ import annotations

from typing import Any

from bench2robust.training.launch.job import MOUNT, STOP, Job, Places, to_yaml
from bench2robust.training.launch.slurm import wait_for_user
from bench2robust.training.preemption import STOP_FILE

__all__ = ["skypilot_task"]

HOME = "~/job"
PLACES = Places(rank='"$SKYPILOT_NODE_RANK"', head='"$(echo "$SKYPILOT_NODE_IPS" | head -n 1)"')


def skypilot_task(job: Job) -> str:
    """Return the task file that ``sky jobs launch`` takes.

    A lost machine is replaced, and the run goes on from its last checkpoint in the bucket.
    """
    launch, hardware = job.settings.launch, job.settings.hardware
    resources: dict[str, Any] = {
        "cpus": f"{launch.cpus}+",
        "image_id": f"docker:{launch.image}",
        "job_recovery": {"max_restarts_on_errors": launch.requeues},
    }
    if hardware.devices:
        resources["accelerators"] = f"{hardware.name}:{hardware.devices}"
    if launch.memory:
        resources["memory"] = f"{launch.memory}+"
    task: dict[str, Any] = {
        "name": launch.name,
        "num_nodes": hardware.nodes,
        "resources": resources,
        "envs": {STOP_FILE: f"/tmp/{STOP}", **launch.env},
        "file_mounts": {
            HOME: str(job.folder),
            MOUNT: {"name": launch.volume, "mode": "MOUNT_CACHED"},
        },
    }
    if launch.setup:
        task["setup"] = "\n".join(launch.setup)
    task["run"] = "\n".join(["set -e", *wait_for_user(job), job.command(PLACES, HOME), ""])
    return to_yaml(task)
