"""What a command is going to do, as it says before it does it."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.wording import quantity
from bench2robust.evaluation.runner import Job

__all__ = ["faults_of", "print_plan", "tasks_of"]


def print_plan(lines: Mapping[str, str]) -> None:
    """Print one line for each thing."""
    for name, text in lines.items():
        print(f"{name:9} {text}")


def tasks_of(job: Job) -> str:
    """Return the domain with its source and number of tasks."""
    tasks = quantity(len(job.tasks), "task")
    return f"{job.config.domain}, {job.config.data or 'built-in data'}, {tasks}"


def faults_of(job: Job) -> str:
    """Return the fault distributions of all modes, each once."""
    profiles = [mode.settings.profile for mode in job.modes if mode.kind != "clean"]
    shown = (f"P(clean)={p.clean:g} B={p.budget} K_max={p.max_consecutive}" for p in profiles)
    return "; ".join(dict.fromkeys(shown)) or "none"
