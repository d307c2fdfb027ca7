"""The same job as a Kubernetes Job: one pod a node, replaced where it is evicted."""

from __future__ import annotations

from typing import Any

from bench2robust.training.launch.job import MOUNT, STOP, Job, Places, to_yaml
from bench2robust.training.launch.slurm import wait_for_user
from bench2robust.training.preemption import REQUEUE, STOP_FILE

__all__ = ["kubernetes_manifest"]

HOME = "/job"


def kubernetes_manifest(job: Job) -> str:
    """Return the manifest: the job's files, a service through which pods meet, and the job.

    An evicted pod is told to end: the run keeps a checkpoint on the volume and its successor goes
    on from there.
    """
    name, settings = job.settings.launch.name, job.settings
    parts: list[dict[str, Any]] = [_files(job, name)]
    if settings.hardware.nodes > 1:
        parts.append(_service(name))
    parts.append(_job(job, name))
    return to_yaml(*parts)


def _files(job: Job, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": job.files(),
    }


def _service(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": {"job-name": name}},
    }


def _job(job: Job, name: str) -> dict[str, Any]:
    launch, nodes = job.settings.launch, job.settings.hardware.nodes
    pod = {
        "subdomain": name,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": launch.grace,
        "containers": [_container(job, name)],
        "volumes": [
            {"name": "job", "configMap": {"name": name}},
            {"name": "runs", "persistentVolumeClaim": {"claimName": launch.volume}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }
    ended = {"containerName": "train", "operator": "In", "values": [REQUEUE]}
    rules = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
        {"action": "Ignore", "onExitCodes": ended},
    ]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": nodes,
            "parallelism": nodes,
            "completionMode": "Indexed",
            "backoffLimit": launch.requeues,
            "podFailurePolicy": {"rules": rules},
            "template": {"metadata": {"labels": {"job-name": name}}, "spec": pod},
        },
    }


def _container(job: Job, name: str) -> dict[str, Any]:
    launch, devices = job.settings.launch, job.settings.hardware.devices
    stop = f"/tmp/{STOP}"
    places = Places(rank='"$JOB_COMPLETION_INDEX"', head=f"{name}-0.{name}")
    lines = [
        "set -euo pipefail",
        *launch.setup,
        *wait_for_user(job),
        f"trap 'touch {stop}' TERM",
        f"{job.command(places, HOME)} &",
        "step=$!",
        'while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done',
        'wait "$step"',
    ]
    limits: dict[str, Any] = {"cpu": launch.cpus}
    limits |= {"memory": f"{launch.memory}G"} if launch.memory else {}
    limits |= {"nvidia.com/gpu": devices} if devices else {}
    env = {STOP_FILE: stop, **launch.env}
    return {
        "name": "train",
        "image": launch.image,
        "command": ["bash", "-c", "\n".join(lines)],
        "env": [{"name": key, "value": value} for key, value in env.items()],
        "resources": {"limits": limits},
        "volumeMounts": [
            {"name": "job", "mountPath": HOME},
            {"name": "runs", "mountPath": MOUNT},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
    }
