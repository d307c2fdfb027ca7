"""Episodes for policies that are text in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from bench2robust.agents.actions import Malformed, explain
from bench2robust.agents.base import Brief, Say
from bench2robust.agents.chat.prompt import result_as_text, system_prompt
from bench2robust.agents.chat.reading import read_action
from bench2robust.agents.messages import Message, plain
from bench2robust.core.chat import Reply, Usage
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import choose
from bench2robust.core.types import Scenario, Task
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
from bench2robust.envs.setup import check_choice, episode_settings, memory_text
from bench2robust.injectors.profiles import load_profile
from bench2robust.training.config_groups import Reward
from bench2robust.training.rewards import episode_reward

__all__ = ["TextEpisode", "World"]

_OVER = "Error: not executed, the episode was over."


@dataclass(frozen=True)
class World:
    """What surrounds the episodes of a framework, as its configuration files can hold it.

    Attributes:
        domain: see ``bench2robust domains``.
        data: the folder of the domain's data; None for what it ships with.
        split: the tasks that may be played: ``train``, ``test`` or ``all``.
        faults: the fault profile of episodes with a scenario; those without one are clean.
        alternatives: whether the alternative tools are offered.
        max_steps: calls and messages that a policy has.
        memory: the memory block of the system prompt.
        abstention: whether a correct abstention in S3 is rewarded.
    """

    domain: str = "retail"
    data: str | None = None
    split: str = "train"
    faults: str | Mapping[str, Any] = "paper"
    alternatives: bool = True
    max_steps: int = 25
    memory: str = "none"
    abstention: bool = False

    def tasks(self) -> Sequence[Task]:
        """Return the tasks that may be played."""
        check_choice("split", self.split, ("train", "test", "all"))
        return self.loaded.tasks(None if self.split == "all" else self.split)

    @property
    def loaded(self) -> Domain:
        """The domain."""
        return get_domain(self.domain, self.data)

    def start(
        self, task: str | None = None, seed: int = 0, scenario: Scenario | None = None
    ) -> TextEpisode:
        """Start an episode.

        Args:
            task: the id of a task; None for one that the seed draws.
            seed: of the draw and of the faults.

        Raises:
            UsageError: a value is unknown, the task is of another split, or it has no such
                scenario.
        """
        if scenario is not None:
            check_choice("scenario", scenario, get_args(Scenario))
        chosen = choose(self.tasks(), "task", seed) if task is None else self.loaded.task(task)
        if self.split not in ("all", chosen.split):
            raise UsageError(
                f"task {task!r} is of the split {chosen.split}, not {self.split}: choose another, "
                f"or set split to {chosen.split}"
            )
        return TextEpisode(self, Episode(self.loaded, chosen, seed, self._around(scenario)))

    def has(self, task: str, seed: int, scenario: Scenario | None) -> bool:
        """Whether a task has a scenario; raises what :meth:`start` raises otherwise."""
        try:
            self.start(task, seed, scenario)
        except NotApplicableError:
            return False
        return True

    def _around(self, scenario: Scenario | None) -> EpisodeSettings:
        around = episode_settings(
            self.loaded, self.faults, self.alternatives, "random", self.max_steps
        )
        if scenario is None:
            return replace(around, profile=load_profile("none"))
        return replace(around, scenario=scenario)

    def prompt(self, episode: Episode) -> str:
        """Return the system prompt: the policy, the memory block, and the tools in words."""
        around = episode.settings
        memory = memory_text(self.memory, self.loaded, self.alternatives)
        brief = Brief(
            self.loaded,
            episode.task,
            episode.opening,
            around.alternatives,
            around.max_steps,
            memory,
        )
        return system_prompt(brief, self.loaded.tools(self.alternatives))


class TextEpisode:
    """One episode: the policy's text goes in, the user's or the tools' comes back.

    Attributes:
        messages: what the policy is shown first: the system prompt and the user's first words.
    """

    def __init__(self, world: World, episode: Episode) -> None:
        self.messages: list[Message] = [
            plain("system", world.prompt(episode)),
            plain("user", episode.opening),
        ]
        self._episode = episode
        self._rules = Reward(abstention=world.abstention)
        self._names = frozenset(spec.name for spec in episode.session.tools)

    def step(self, text: str) -> str:
        """Do what a text asks for, and return what comes back.

        A call stands between ``<tool_call>`` tags, in a fenced block, or alone; any other text is
        said to the user. What cannot be read costs a step and comes back as an error.
        """
        episode = self._episode
        action = read_action(Reply(text, (), "stop", Usage(0, 0)), self._names)
        if isinstance(action, Say):
            back = episode.say(action.text)
        elif isinstance(action, Malformed):
            back = episode.skip(text, explain(action))
        else:
            results = []
            for call in action:
                over = episode.check_limit()
                results.append((call.name, _OVER if over else episode.call(call).content))
            back = "\n\n".join(result_as_text(*result) for result in results)
        episode.check_limit()
        return back

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._episode.done

    @property
    def reward(self) -> float:
        """The reward as the episode stands: equation 2."""
        return episode_reward(self._rules, self._episode)

    @property
    def facts(self) -> dict[str, Any]:
        """What happened, for the framework's metrics; nothing of it is for the policy."""
        episode = self._episode
        return {
            "task": episode.task.id,
            "seed": episode.seed,
            "scenario": episode.settings.scenario or "clean",
            "success": float(episode.outcome().success),
            "steps": episode.steps,
            "faults": sum(event.delivered is not None for event in episode.injector.events),
        }
