"""A dialogue as an environment: a customer, the tools of a company, and faults in between."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import gymnasium as gym
import orjson

from bench2robust.agents.actions import Calls, Malformed, decode_action, explain
from bench2robust.agents.base import Say
from bench2robust.agents.messages import Message, assistant_calls, plain, tool_result
from bench2robust.core.canonical import MAX_TEXT
from bench2robust.core.domain import offered_tools
from bench2robust.core.errors import UsageError, shown
from bench2robust.core.reward import partial_credit
from bench2robust.core.types import ToolSpec
from bench2robust.domains import get_domain
from bench2robust.envs.alignment import align
from bench2robust.envs.credit import credited
from bench2robust.envs.episode import Episode
from bench2robust.envs.lottery import Lottery, ScenarioChoice
from bench2robust.envs.rendering import render_dialogue
from bench2robust.envs.setup import (
    NotCopied,
    check_choice,
    check_keywords,
    episode_settings,
    memory_text,
    suite_metadata,
)
from bench2robust.envs.spaces import Utf8Text
from bench2robust.injectors.scenarios import Side
from bench2robust.memory import system_text

__all__ = ["DialogueEnv", "Observation", "Source"]

Reward = Literal["success", "partial_credit"]
Observation: TypeAlias = dict[str, Any]
Info: TypeAlias = dict[str, Any]


class Source(IntEnum):
    """Where the text of an observation comes from."""

    USER = 0
    """What the user said."""
    TOOL = 1
    """The results of the calls that the action made, one after another."""
    ERROR = 2
    """A call came back as an error, or the action could not be read."""


class DialogueEnv(NotCopied, gym.Env[Observation, str]):
    """One episode: a customer's request, worked on with the company's tools.

    A subclass names its domain in :attr:`domain_name`.

    **Action**: a text, see :mod:`bench2robust.agents.actions`. A malformed action is answered with
    an explanation and costs a step.

    **Observation**: ``text`` is what the action brought back, ``source`` tells from where
    (:class:`Source`), ``turn`` is how many steps were taken.

    **Info**: ``messages``, the dialogue so far as OpenAI chat messages that start with the policy
    (followed by the memory block), and ``tools``, the OpenAI list of tools; both are to be read
    only, and a reset undoes what was done to them. When the episode has ended also ``outcome``
    (:class:`~bench2robust.core.domain.Outcome`) and ``episode`` (task, seed, scenario, blocked
    tools, delivered faults, steps, and how it ended).

    **Reward**: 0 until the end; then, with ``success``, 1 if the task is completed and else 0;
    with ``partial_credit``, equation 2.

    **End**: terminated when the user ends or the agent hands over to a human; truncated after
    ``max_steps`` tool calls and messages. Failures around the agent raise
    :class:`~bench2robust.core.errors.InfrastructureError`; they are never a reward of 0.

    ``reset(seed=...)`` seeds the draw of the task and is the seed of the faults. Its ``options``
    may hold ``task_id``, ``scenario`` and ``fault_seed``, for that episode.

    Args:
        split: the tasks to draw from: ``train``, ``test`` or ``all``.
        task_id: the one task, of any split, to play.
        scenario: ``S1``, ``S2`` or ``S3``; a mapping of these to weights; or None.
        alternatives: whether the alternative tools are offered. S2 needs them.
        faults: a fault profile: a name, the path of a YAML file, or a mapping.
        side: which side of a fallback class S2 blocks.
        memory: the memory block: ``none``, ``dynamic``, ``static``, ``shuffled``, ``full`` or
            ``placebo``, with ``:FILE`` for the posteriors; or the file alone.
        monitor: the outcome monitor between the tools and the agent: ``none``, ``auto`` or a
            contract file for receipts on violations, or an arm such as ``placebo:FILE``.
        user: who the customer is: ``scripted``.
        reward: ``success`` or ``partial_credit``.
        benchmark_version: if given, the version that must be installed.
        max_steps: tool calls and messages that the agent has.
        data: where the domain's data are; None for what it ships with.
        render_mode: ``ansi`` for a dialogue in which faults are marked.

    Raises:
        UsageError: an argument is unknown or has a bad value.
    """

    domain_name: ClassVar[str]
    """The domain, as :func:`~bench2robust.domains.get_domain` calls it."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        *,
        split: str = "train",
        task_id: str | None = None,
        scenario: ScenarioChoice = None,
        alternatives: bool = False,
        faults: str | Mapping[str, Any] = "paper",
        side: Side = "random",
        memory: str = "none",
        monitor: str = "none",
        user: Literal["scripted"] = "scripted",
        reward: Reward = "success",
        benchmark_version: str | None = None,
        max_steps: int = 25,
        data: str | None = None,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        check_keywords(unknown, DialogueEnv)
        check_choice("user", user, ("scripted",))
        self._partial = check_choice("reward", reward, get_args(Reward)) == "partial_credit"
        self.render_mode = render_mode and check_choice("render_mode", render_mode, ("ansi",))
        domain = get_domain(self.domain_name, data)
        settings = episode_settings(domain, faults, alternatives, side, max_steps, monitor)
        self._lottery = Lottery(domain, split, task_id, scenario, settings)
        self.metadata = {**DialogueEnv.metadata, **suite_metadata(domain, benchmark_version)}
        self.observation_space = gym.spaces.Dict(
            text=Utf8Text(),
            source=gym.spaces.Discrete(len(Source)),
            turn=gym.spaces.Discrete(max_steps + 1),
        )
        self.action_space = Utf8Text()
        self._policy = system_text(domain.policy, memory_text(memory, domain, alternatives))
        self._offered: tuple[ToolSpec, ...] = ()
        self._tools_text = b""
        self._tools: list[dict[str, Any]] = []
        self._heard = 0
        self._messages: list[Message] = []
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The running episode, hidden state included: for evaluation, not for agents."""
        if self._episode is None:
            raise gym.error.ResetNeeded("call reset() before anything else")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; see the class for ``seed`` and ``options``."""
        super().reset(seed=seed)
        self._episode = self._lottery.draw(self.np_random, seed, options)
        opening = self._episode.opening
        self._messages = [plain("system", self._policy), plain("user", opening)]
        self._heard = 0
        self._offer()
        self._restore_tools()
        return self._observation(opening, Source.USER), self._info()

    def step(self, action: str) -> tuple[Observation, float, bool, bool, Info]:
        """Do what the action asks for and return what it brings back."""
        if not isinstance(action, str):
            raise UsageError(f"an action is a text, not {shown(action)}: encode_action()")
        episode = self.episode
        observation = self._observation(*self._act(action))
        if not episode.check_limit():
            return observation, 0.0, False, False, self._info()
        truncated = episode.ended == "step_limit"
        final = {**self._info(), **_verdict(episode)}
        return observation, self._reward(), not truncated, truncated, final

    def render(self) -> str | None:
        """Return the dialogue with faults marked; None without a render mode."""
        if self.render_mode is None:
            return None
        episode = self.episode
        verdict = ""
        if episode.done:
            success = "success" if episode.outcome().success else "no success"
            verdict = f"ended by {episode.ended}: {success}"
        checks = episode.monitor.checks if episode.monitor else ()
        return render_dialogue(self._messages, align(episode).events.values(), verdict, checks)

    def _observation(self, text: str, source: Source) -> Observation:
        return {"text": text[:MAX_TEXT], "source": int(source), "turn": self.episode.steps}

    def _info(self) -> Info:
        return {"messages": list(self._messages), "tools": self._tools}

    def _offer(self) -> None:
        """Take up the tools that are offered by now."""
        at = self.episode
        offered = offered_tools(at.domain, at.task, at.settings.alternatives, self._heard)
        if offered is not self._offered:
            self._offered = offered
            self._tools_text = orjson.dumps([spec.openai() for spec in offered])

    def _restore_tools(self) -> None:
        """Undo what was done to the tools of an earlier info."""
        # Writing them takes a quarter of the time of reading them, which is more than a reset has.
        try:
            intact = orjson.dumps(self._tools) == self._tools_text
        except TypeError:
            intact = False
        if not intact:
            self._tools = orjson.loads(self._tools_text)

    def _act(self, action: str) -> tuple[str, Source]:
        decoded = decode_action(action)
        if isinstance(decoded, Say):
            reply = self.episode.say(decoded.text)
            self._messages += (plain("assistant", decoded.text), plain("user", reply))
            self._hear()
            return reply, Source.USER
        if isinstance(decoded, Malformed):
            answer = self.episode.skip(action, explain(decoded))
            self._messages += (plain("assistant", action), plain("user", answer))
            return answer, Source.ERROR
        return self._call(decoded)

    def _hear(self) -> None:
        """Note a reply of the user's: further tools may come with it."""
        self._heard += 1
        before = self._offered
        self._offer()
        if self._offered is not before:
            self._restore_tools()

    def _call(self, calls: Calls) -> tuple[str, Source]:
        episode = self.episode
        first = len(episode.observed.entries)
        asked = assistant_calls(calls, first)
        results: list[Message] = []
        source = Source.TOOL
        for number, call in enumerate(calls, first):
            if results and episode.check_limit():
                content, source = _TOO_LATE, Source.ERROR
            else:
                content, is_error = episode.call(call)
                source = Source.ERROR if is_error else source
            results.append(tool_result(number, call.name, content))
        self._messages += (asked, *results)
        return "\n".join(result["content"] for result in results), source

    def _reward(self) -> float:
        episode = self.episode
        if self._partial:
            calls = (entry.call for entry in episode.observed.entries)
            return partial_credit(credited(episode, episode.outcome()), episode.steps, calls)
        return float(episode.outcome().success)


_TOO_LATE = "Error: not executed, the episode was over."


def _verdict(episode: Episode) -> Info:
    facts = {
        "task": episode.task.id,
        "seed": episode.seed,
        "scenario": episode.settings.scenario,
        "blocked": sorted(episode.injector.blocked),
        "faults": [e.delivered for e in episode.injector.events if e.delivered],
        "steps": episode.steps,
        "ended": episode.ended,
    }
    return {"outcome": episode.outcome()._asdict(), "episode": facts}
