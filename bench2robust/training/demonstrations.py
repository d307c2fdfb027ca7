"""Demonstrations: scripted agents at work on training tasks, with and without faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench2robust.agents import Brief, make_agent
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.types import Scenario, Task
from bench2robust.curricula import Curriculum
from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
from bench2robust.envs.setup import episode_settings, memory_text
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.play import play
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.profiles import load_profile
from bench2robust.injectors.scenarios import draw_scenario
from bench2robust.training.config import TrainSettings
from bench2robust.training.groups import phase_profile
from bench2robust.training.sft_data import check_training_task, is_demonstration

__all__ = ["demonstrate"]

_TRIES = 50
"""Episodes played for each demonstration before it is clear that there are none."""
_SEEDS = 1 << 31


def demonstrate(
    domain: Domain, tasks: Sequence[Task], settings: TrainSettings, count: int
) -> Iterator[EpisodeRecord]:
    """Yield the records, with transcripts, of ``count`` successful scripted episodes.

    Task, agent, scenario and faults of the n-th are drawn by key; the scenarios are those of the
    curriculum's last phase. In S3 a correct abstention is a success.

    Raises:
        UsageError: a task is held out, or the agents hardly ever succeed.
    """
    for task in tasks:
        check_training_task(domain, task.id)
    stage, found = _Stage(domain, tasks, settings), 0
    for number in range(count * _TRIES):
        if found == count:
            return
        record = stage.play(number)
        if record is not None and is_demonstration(record):
            found += 1
            yield record
    if found < count:
        raise UsageError(
            f"sft.demonstrations {', '.join(settings.sft.demonstrations)}: only {found} of "
            f"{count * _TRIES} episodes succeeded; choose agents that recover, or a higher "
            "sft.clean."
        )


class _Stage:
    def __init__(self, domain: Domain, tasks: Sequence[Task], settings: TrainSettings) -> None:
        self._domain = domain
        self._tasks = tasks
        self._settings = settings
        self._builder = RecordBuilder(domain, transcripts=True)
        self._phase = _last_phase(settings.schedule())
        episodes = settings.episodes
        around = episode_settings(
            domain, episodes.faults, episodes.alternatives, episodes.side, episodes.max_steps
        )
        profile = phase_profile(around.profile, settings.schedule().phases[-1].max_injections)
        self._faulted = replace(around, profile=profile, s2_classes=episodes.s2_classes)
        self._clean = replace(around, profile=load_profile("none"))
        self._memory = memory_text(episodes.memory, domain, episodes.alternatives)

    def play(self, number: int) -> EpisodeRecord | None:
        """Play the n-th episode; None if its task has no such scenario."""
        key = ("demonstration", self._settings.seed, number)
        task = choose(self._tasks, "task", *key)
        agent = _drawn(self._settings.sft.demonstrations, uniform("agent", *key))
        seed = int(uniform("faults", *key) * _SEEDS)
        try:
            episode = Episode(self._domain, task, seed, self._around(key, seed))
        except NotApplicableError:
            return None
        around = episode.settings
        brief = Brief(
            self._domain,
            task,
            episode.opening,
            around.alternatives,
            around.max_steps,
            self._memory,
        )
        play(make_agent(agent, brief).run(), episode)
        return self._builder.build(episode, agent, "demonstration")

    def _around(self, key: tuple[str | int, ...], seed: int) -> EpisodeSettings:
        if uniform("clean", *key) < self._settings.sft.clean:
            return self._clean
        return replace(self._faulted, scenario=draw_scenario(seed, "", self._phase))


def _last_phase(curriculum: Curriculum) -> Mapping[Scenario, float]:
    last = curriculum.phases[-1]
    return last.ramp.mix if last.ramp else last.mix


def _drawn(shares: Mapping[str, float], at: float) -> str:
    total = sum(shares.values())
    for name, share in shares.items():
        at -= share / total
        if at < 0:
            return name
    return list(shares)[-1]
