"""The job on this machine, in the foreground, for real."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from bench2robust.training.launch.job import STOP, Job, Places
from bench2robust.training.preemption import STOP_FILE

__all__ = ["node_script", "run_here"]


def node_script(job: Job, places: Places) -> str:
    """Return the shell lines that one node runs: what the site needs, then the command."""
    launch = job.settings.launch
    return "\n".join(["set -e", *launch.setup, f"exec {job.command(places)}"])


def run_here(job: Job, places: Places, extra: Mapping[str, str] | None = None) -> int:
    """Run one node's part of the job and return its exit code.

    SIGTERM asks the run to stop at its next iteration, as a scheduler's warning does.
    """
    stop = job.folder / STOP
    stop.unlink(missing_ok=True)
    values = {STOP_FILE: str(stop.absolute()), **job.settings.launch.env, **(extra or {})}
    with _asking(stop):
        script = node_script(job, places)
        done = subprocess.run(["bash", "-c", script], env={**os.environ, **values}, check=False)
    return done.returncode


class _asking:
    """Turn SIGTERM into the file that asks the run to stop."""

    def __init__(self, stop: Path) -> None:
        self._stop = stop
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._ask)

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._stop.touch()
