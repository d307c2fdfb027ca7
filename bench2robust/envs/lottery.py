"""Which episode a reset starts: its task, its scenario, and the seed of its faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import numpy as np

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.core.types import Scenario, Task
from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
from bench2robust.envs.setup import check_options
from bench2robust.injectors.scenarios import draw_scenario

__all__ = ["SPLITS", "Lottery", "ScenarioChoice"]

ScenarioChoice: TypeAlias = Scenario | Mapping[Scenario, float] | None
"""One scenario, the weight of each (table 11), or None: nothing is blocked."""

SPLITS = ("train", "test", "all")
_SCENARIOS: tuple[Scenario | None, ...] = (None, *get_args(Scenario))
_OPTIONS = ("task_id", "scenario", "fault_seed")
_DRAWS = 32
_SEEDS = 1 << 31


class Lottery:
    """Draws episodes.

    The scenario is drawn before the task, so that a mix holds whatever the tasks allow. With a
    fixed task, the scenarios that it does not allow are left out of the mix.

    Args:
        split: the tasks to draw from: ``train``, ``test`` or ``all``.
        task_id: the one task (of any split) to play instead.
        settings: everything about the episodes but the scenario.

    Raises:
        UsageError: a value is unknown, or S2 has no tool to switch to.
    """

    def __init__(
        self,
        domain: Domain,
        split: str,
        task_id: str | None,
        scenario: ScenarioChoice,
        settings: EpisodeSettings,
    ) -> None:
        if split not in SPLITS:
            raise UnknownNameError("split", split, SPLITS)
        self._domain = domain
        self._split = split
        self._tasks = domain.tasks(None if split == "all" else split)
        if not self._tasks:
            raise UsageError(f"split {split!r} of {domain.name!r} holds no task: choose another")
        self._task = None if task_id is None else self._named(task_id)
        self._settings = {name: replace(settings, scenario=name) for name in _SCENARIOS}
        self._mix = self._read(scenario)

    def _named(self, task_id: str) -> Task:
        if not isinstance(task_id, str):
            example = self._tasks[0].id
            raise UsageError(f"task_id must be a text such as {example!r}, not {shown(task_id)}")
        return self._domain.task(task_id)

    def _read(self, choice: ScenarioChoice) -> Mapping[Scenario, float]:
        """Return the weight of each scenario; empty for None."""
        if choice is None:
            return {}
        if not isinstance(choice, (str, Mapping)):
            raise UsageError(
                f"scenario must be S1, S2 or S3, a mapping of these to weights, or None, "
                f"not {shown(choice)}"
            )
        mix = choice if isinstance(choice, Mapping) else {choice: 1.0}
        draw_scenario(0, "", mix)  # refuses unknown names and bad weights
        if mix.get("S2") and not self._settings["S2"].alternatives:
            raise UsageError("scenario S2 needs a tool to switch to: set alternatives=True")
        return mix

    def draw(
        self, rng: np.random.Generator, seed: int | None, options: Mapping[str, Any] | None
    ) -> Episode:
        """Return a fresh episode.

        Args:
            rng: decides what is not fixed.
            seed: of the faults, unless ``options`` give one; None draws it from ``rng``.
            options: ``task_id``, ``scenario`` and ``fault_seed`` of this episode, or None.

        Raises:
            UsageError: an option is unknown or has a bad value.
            NotApplicableError: no task that may be drawn allows the scenario.
        """
        options = check_options(options)
        for name in options:
            if name not in _OPTIONS:
                raise UnknownNameError("reset option", name, _OPTIONS)
        if seed is None:
            seed = int(rng.integers(_SEEDS))
        seed = options.get("fault_seed", seed)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise UsageError(f"fault_seed must be a whole number, not {shown(seed)}")
        mix = self._read(options["scenario"]) if "scenario" in options else self._mix
        task = self._named(options["task_id"]) if "task_id" in options else self._task
        if task is not None:
            return self._fixed(task, seed, mix)
        scenario = draw_scenario(seed, "", mix) if mix else None
        for task in self._candidates(rng):
            try:
                return self._start(task, seed, scenario)
            except NotApplicableError:
                continue
        raise NotApplicableError(f"no task of split {self._split!r} allows scenario {scenario}")

    def _fixed(self, task: Task, seed: int, mix: Mapping[Scenario, float]) -> Episode:
        if not mix:
            return self._start(task, seed, None)
        scenario = draw_scenario(seed, task.id, mix)
        try:
            return self._start(task, seed, scenario)
        except NotApplicableError:
            rest = {name: weight for name, weight in mix.items() if name != scenario}
            if not any(rest.values()):
                raise
            return self._fixed(task, seed, rest)

    def _start(self, task: Task, seed: int, scenario: Scenario | None) -> Episode:
        return Episode(self._domain, task, seed, self._settings[scenario])

    def _candidates(self, rng: np.random.Generator) -> Iterator[Task]:
        """Yield tasks so that the first that fits is uniform among all that fit."""
        tasks = self._tasks
        for _ in range(_DRAWS):
            yield tasks[int(rng.random() * len(tasks))]
        for index in rng.permutation(len(tasks)):
            yield tasks[index]
