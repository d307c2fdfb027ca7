"""What a run is to do: a configuration with the domain, tasks, modes and arms that it names."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench2robust.core.domain import Domain
from bench2robust.core.errors import shown
from bench2robust.core.types import Task
from bench2robust.evaluation.arms import Arm, make_arms
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.modes import Mode, expand_modes
from bench2robust.evaluation.record import RecordKey
from bench2robust.evaluation.suite import full_spec, select_tasks

__all__ = ["Job", "make_job"]


@dataclass(frozen=True)
class Job:
    """A configuration with its domain, tasks and modes: everything that a run needs."""

    config: EvalConfig
    domain: Domain
    tasks: tuple[Task, ...]
    modes: tuple[Mode, ...]
    arms: tuple[Arm, ...]

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.arms) * len(self.modes) * len(self.config.seeds) * len(self.tasks)

    @property
    def folder(self) -> Path:
        """Where the run goes."""
        name = f"{self.config.domain}-{self.config.hash(self.domain.digest)}"
        return Path(self.config.out) if self.config.out else Path("runs") / name

    def foreign(self, key: RecordKey) -> str:
        """Say which part of a record's key is none of this job's; empty if all are."""
        parts = zip(key, self._own.items(), strict=True)
        wrong = [f"{name} {shown(part)}" for part, (name, own) in parts if part not in own]
        return f"{', '.join(wrong)} is none of this run" if wrong else ""

    @cached_property
    def _own(self) -> Mapping[str, Set[object]]:
        return {
            "agent": {arm.label for arm in self.arms},
            "mode": {mode.name for mode in self.modes},
            "task": {task.id for task in self.tasks},
            "seed": set(self.config.seeds),
        }


def make_job(config: EvalConfig, domain: Domain) -> Job:
    """Select tasks, modes and arms.

    Raises:
        UsageError: a task, a tool that the fault profile names, a memory or a checkpoint does not
            exist.
    """
    config = config.identified()
    modes = expand_modes(config)
    tools = [spec.name for spec in domain.tools(alternatives=True)]
    for mode in modes:
        mode.settings.profile.check_tools(tools)
    spec = full_spec(config.tasks or "", builtin=config.data is None)
    return Job(config, domain, select_tasks(domain, spec), modes, make_arms(config, domain))
