"""The Slurm script: accelerate under srun, on one or many nodes, requeued when ended early."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bench2robust.training.launch.job import STOP, Job, Places
from bench2robust.training.preemption import STOP_FILE

__all__ = ["SCRIPT", "slurm_script", "wait_for_user"]

SCRIPT = "job.sh"
PLACES = Places(rank='"$SLURM_NODEID"', head='"$HEAD"')
USER_WAIT = 600
"""Seconds that the user simulator has to answer."""


def slurm_script(job: Job) -> str:
    """Return the script that ``sbatch`` takes.

    Told to end (USR1 before the time limit, TERM on preemption), it asks the run to stop at the
    next iteration, which keeps a checkpoint; if the run did not finish, the job is requeued and
    goes on from there.
    """
    inner = shlex.quote(f"exec {job.command(PLACES)}")
    body = _BODY.format(
        setup=_block(job.settings.launch.setup, "What the site needs."),
        exports=_exports(job),
        user=_block(wait_for_user(job), "GPUs must not wait for a user that never comes."),
        stop=shlex.quote(str(job.folder / STOP)),
        variable=STOP_FILE,
        inner=inner,
        requeues=job.settings.launch.requeues,
    )
    return "\n".join(["#!/bin/bash", *_directives(job), body])


def _directives(job: Job) -> list[str]:
    launch, hardware = job.settings.launch, job.settings.hardware
    options: dict[str, object] = {
        "job-name": launch.name,
        "partition": launch.partition,
        "account": launch.account,
        "qos": launch.qos,
        "constraint": launch.constraint,
        "nodes": hardware.nodes,
        "ntasks-per-node": 1,
        "gpus-per-node": hardware.devices or None,
        "cpus-per-task": launch.cpus,
        "mem": f"{launch.memory}G" if launch.memory else 0,
        "time": launch.minutes,
        "output": shlex.quote(f"{str(job.folder).replace('%', '%%')}/slurm-%j.log"),
        "open-mode": "append",
        "signal": f"B:USR1@{launch.grace}",
    }
    lines = [f"#SBATCH --{name}={value}" for name, value in options.items() if value is not None]
    return [*lines, "#SBATCH --requeue"]


def _exports(job: Job) -> str:
    launch, hardware = job.settings.launch, job.settings.hardware
    threads = max(1, launch.cpus // max(1, hardware.devices))
    values = {"OMP_NUM_THREADS": str(threads), **launch.env}
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items())


def wait_for_user(job: Job) -> list[str]:
    """Return the lines that wait until the user simulator answers; none if it is scripted."""
    chat = job.settings.episodes.user_chat
    if chat is None or job.settings.episodes.user == "scripted":
        return []
    url = shlex.quote(chat.base_url.rstrip("/") + "/models")
    key = f' --header "Authorization: Bearer ${chat.api_key_env}"' if chat.api_key_env else ""
    return [
        f"deadline=$((SECONDS + {USER_WAIT}))",
        f"until curl --silent --fail --max-time 5{key} {url} >/dev/null; do",
        f"  if [ $SECONDS -ge $deadline ]; then echo no user simulator: {url} >&2; exit 1; fi",
        "  sleep 5",
        "done",
    ]


def _block(lines: Sequence[str], comment: str) -> str:
    return "\n".join(["", f"# {comment}", *lines, ""]) if lines else ""


_BODY = """\
set -euo pipefail
{setup}
{exports}
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export HEAD
export {variable}={stop}
rm -f "${variable}"
# Told to end, the run does so at its next iteration, with a checkpoint.
trap 'touch "${variable}"' USR1 TERM
{user}
srun --kill-on-bad-exit=1 bash -c {inner} &
step=$!
while kill -0 "$step" 2>/dev/null; do
  wait "$step" || true # a signal ends the wait early
done
code=0
wait "$step" || code=$?

restarts=${{SLURM_RESTART_COUNT:-0}}
if [ "$code" -ne 0 ] && [ -e "${variable}" ] && [ "$restarts" -lt {requeues} ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"""
