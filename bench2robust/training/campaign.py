"""What a training run plays: its tasks, the groups of each iteration, and their episodes.

No framework is imported here; the trainer and the tests drive the same class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from bench2robust.agents import is_chat
from bench2robust.core.domain import Domain
from bench2robust.core.errors import InfrastructureError, UsageError
from bench2robust.core.faults import PERSISTENT
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.curricula import EpisodeFacts, PhaseState, episode_facts
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.reactions import Relations
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.profiles import load_profile
from bench2robust.training.checks import training_tasks
from bench2robust.training.config import TrainSettings
from bench2robust.training.customers import Customer, Customers
from bench2robust.training.groups import GroupPlan, Member, phase_profile, plan_group
from bench2robust.training.rewards import episode_reward
from bench2robust.training.rollout import Budgets, EpisodeView, Rollout

__all__ = ["POLICY", "Campaign", "Score", "TooManyFailuresError"]

POLICY = "policy"
"""The agent that records of training episodes carry."""

Place: TypeAlias = tuple[Task, int, EpisodeSettings]
"""An episode to be played: its task, seed, and what surrounds it."""
_NO_FAULTS = load_profile("none")


class TooManyFailuresError(InfrastructureError):
    """More episodes failed for reasons outside the policy than are allowed."""


class Score:
    """What became of one rollout.

    Attributes:
        reward: None if something around the policy failed.
        record: the episode, as evaluations write it.
        facts: what the curriculum looks at; None for a clean or failed member.
        cut: which limit ended the episode.
        tokens: of the episode, prompt included.
        written: how many of them the policy wrote.
    """

    __slots__ = ("cut", "facts", "record", "reward", "tokens", "written")

    def __init__(
        self,
        reward: float | None,
        record: EpisodeRecord,
        facts: EpisodeFacts | None,
        rollout: Rollout,
    ) -> None:
        self.reward = reward
        self.record = record
        self.facts = facts
        self.cut = rollout.cut
        self.tokens = len(rollout.tokens)
        self.written = sum(rollout.written)


class Campaign:
    """The episodes of a training run.

    Args:
        view: from a fresh episode to how it looks to the policy.
    """

    def __init__(
        self, settings: TrainSettings, domain: Domain, view: Callable[[Episode], EpisodeView]
    ) -> None:
        self.settings = settings
        self.domain = domain
        self._view = view
        self._builder = RecordBuilder(domain)
        self._relations = Relations.of(domain)
        self._profile = load_profile(settings.episodes.faults)
        chat = is_chat(settings.episodes.user)
        self._customers = Customers(settings.episodes, domain) if chat else None

    @cached_property
    def _split(self) -> tuple[tuple[Task, ...], ...]:
        return training_tasks(self.domain, self.settings)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to train on."""
        return self._split[0]

    @property
    def validation(self) -> tuple[Task, ...]:
        """The tasks to choose checkpoints by; none of them is trained on."""
        return self._split[1]

    @property
    def fault_types(self) -> frozenset[str]:
        """The types of fault that training knows: those of its profile and of blocked tools."""
        drawn = {kind for kind, share in self._profile.probabilities.items() if share > 0}
        return frozenset(drawn.union(PERSISTENT))

    @property
    def budgets(self) -> Budgets:
        """The limits in tokens."""
        rollout = self.settings.rollout
        return Budgets(rollout.response_tokens, rollout.context)

    def plan(self, phase: PhaseState, prompt: int, task_id: str) -> GroupPlan:
        """Return what the members of a group get in the next iteration of ``phase``."""
        settings, task = self.settings, self.domain.task(task_id)

        def certified(scenario: Scenario, seed: int) -> bool:
            if analyse(self.domain, task).reason(scenario):
                return False
            around = self._around(scenario, phase.max_injections)
            return certify(self.domain, task, scenario, seed, around).status == "certified"

        return plan_group(
            settings.group,
            phase.mix,
            phase.max_injections,
            seed=settings.seed,
            iteration=phase.iteration,
            prompt=prompt,
            task_id=task_id,
            certified=certified,
        )

    def start(self, places: Sequence[tuple[GroupPlan, Member]]) -> list[Rollout]:
        """Start the episodes of members."""
        return self.open_all([self._place(plan, member) for plan, member in places])

    def _place(self, plan: GroupPlan, member: Member) -> Place:
        around = self._around(member.scenario, plan.max_injections if member.injected else 0)
        return self.domain.task(plan.task_id), member.seed, around

    def open(self, task: Task, seed: int, around: EpisodeSettings) -> Rollout:
        """Start an episode of a task."""
        return self.open_all([(task, seed, around)])[0]

    def open_all(self, places: Sequence[Place]) -> list[Rollout]:
        """Start episodes; users that are models are asked for their first messages side by side.

        Where such a user does not answer, the rollout has failed already.
        """
        if self._customers is None:
            return [self._begin(*place) for place in places]
        users = [self._customers.meet(task, seed) for task, seed, _ in places]
        return [self._greeted(place, user) for place, user in zip(places, users, strict=True)]

    def _greeted(self, place: Place, user: Customer) -> Rollout:
        try:
            return self._begin(*place, user, user.answer())
        except InfrastructureError as error:
            rollout = self._begin(*place)  # the script's first words stand in: nobody reads them
            rollout.fail(error)
            return rollout

    def _begin(
        self,
        task: Task,
        seed: int,
        around: EpisodeSettings,
        user: Customer | None = None,
        opening: str | None = None,
    ) -> Rollout:
        episode = Episode(self.domain, task, seed, around, opening=opening)
        return Rollout(episode, self._view(episode), self.budgets, user)

    def noisy(self, budget: int, scenario: Scenario = "S1") -> EpisodeSettings:
        """Return what surrounds an episode with at most ``budget`` stochastic faults."""
        profile = phase_profile(self._profile, budget)
        return replace(self.surroundings(scenario), profile=profile)

    def _around(self, scenario: Scenario | None, budget: int) -> EpisodeSettings:
        return self.surroundings(None) if scenario is None else self.noisy(budget, scenario)

    def surroundings(self, scenario: Scenario | None) -> EpisodeSettings:
        """Return what surrounds an episode with the full fault profile, or a clean one."""
        episodes = self.settings.episodes
        return EpisodeSettings(
            scenario=scenario,
            profile=_NO_FAULTS if scenario is None else self._profile,
            alternatives=episodes.alternatives,
            side=episodes.side,
            s2_classes=episodes.s2_classes,
            max_steps=episodes.max_steps,
        )

    def score(self, rollout: Rollout, agent: str, mode: str) -> Score:
        """Return reward, record and facts of a finished rollout."""
        episode = rollout.episode
        if rollout.failure:
            record = self._builder.unplayed(
                agent,
                mode,
                episode.task,
                episode.seed,
                episode.settings.scenario,
                reason=rollout.failure,
            )
            return Score(None, record, None, rollout)
        reward = episode_reward(self.settings.reward, episode)
        if not 0.0 <= reward <= 1.0:  # NaN fails too
            raise UsageError(f"the reward of task {episode.task.id!r} is {reward}, not in 0 … 1")
        record = self._builder.build(episode, agent, mode)
        record["reward"] = reward
        if rollout.user is not None:
            rollout.user.note(record, episode)
        return Score(reward, record, episode_facts(record, reward, self._relations), rollout)

    def check_failures(self, failed: Sequence[str], total: int) -> None:
        """Check how many of ``total`` episodes failed, each for its reason.

        Raises:
            TooManyFailuresError: they are more than ``rollout.infra_share`` allows.
        """
        limit = self.settings.rollout.infra_share
        if len(failed) > limit * total:
            raise TooManyFailuresError(
                f"{len(failed)} of {total} episodes failed for reasons outside the policy, more "
                f"than rollout.infra_share {limit:g} allows. The first: {failed[0]}"
            )
