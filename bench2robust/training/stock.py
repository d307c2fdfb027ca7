"""An environment class for stock TRL: ``GRPOTrainer(environment_factory=stock_environment(...))``.

For those who want to keep TRL's own loop. Read :class:`StockEnvironment` for what that loop cannot
do; :func:`bench2robust.training.run` does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.types import Scenario, ToolCall, ToolSpec
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.injectors.profiles import load_profile
from bench2robust.training.config_groups import Reward
from bench2robust.training.hints import type_hint
from bench2robust.training.rewards import episode_reward

__all__ = ["StockEnvironment", "stock_environment"]

_OVER = "Error: the episode has ended; nothing that is called now has an effect."
_SECTION = re.compile(r"\b(Args|Returns|Raises):")
"""What begins a section of a docstring."""


class StockEnvironment:
    """One episode for TRL's ``environment_factory``; every tool of the domain is a method.

    ``reset`` takes the columns of a dataset row: ``task`` (an id of the training split), and
    optionally ``seed`` of the faults and ``scenario`` (S1, S2, S3, or nothing for a clean episode).
    The prompt's last message should be empty: the user's first words are put there.

    What TRL's own loop does not do, so that the recipe of the paper needs
    :func:`bench2robust.training.run`:

    * it has no way to say that an episode is over: the model is asked again after the last tool,
      which is answered with an error here;
    * members of a group are not told apart, so hybrid groups are not possible;
    * groups whose rewards hardly differ are not left out, but amplified;
    * a turn may use up the whole budget of tokens, and reaching the limit of turns is not marked;
    * a message without a call ends the dialogue: to talk to the user there is a tool, ``respond``.
    """

    _domain: Domain
    _around: Mapping[Scenario | None, EpisodeSettings]
    _rules: Reward

    def __init__(self) -> None:
        self._episode: Episode | None = None

    def reset(
        self, task: str = "", seed: int = 0, scenario: Scenario | None = None, **row: Any
    ) -> str:
        """Start an episode and return the user's first message."""
        chosen = self._domain.task(task)
        if chosen.split != "train":
            raise UsageError(f"task {task!r} is held out: train on tasks of the split train only")
        self._episode = Episode(self._domain, chosen, seed, self._around[scenario])
        return self._episode.opening

    def respond(self, message: str) -> str:
        """Say something to the user and wait for the answer.

        Args:
            message: What to say.

        Returns:
            What the user says.
        """
        episode = self._running()
        if episode.done:
            return _OVER
        reply = episode.say(message)
        episode.check_limit()
        return reply

    def get_reward(self) -> float:
        """Return the reward of the episode as it stands."""
        return episode_reward(self._rules, self._running())

    def _running(self) -> Episode:
        if self._episode is None:
            raise UsageError("reset the environment with the id of a task first")
        return self._episode

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        episode = self._running()
        if episode.done:
            return _OVER
        result = episode.call(ToolCall(name, arguments))
        episode.check_limit()
        return result.content


def stock_environment(
    domain: str = "retail",
    data: str | None = None,
    faults: str | Mapping[str, Any] = "paper",
    alternatives: bool = True,
    max_steps: int = 25,
    abstention: bool = False,
) -> type[StockEnvironment]:
    """Return an environment class, which is the factory that TRL asks for.

    Args:
        domain: the benchmark domain.
        data: the folder of its data; by default the built-in suite.
        faults: the profile of injected episodes.
        alternatives: whether the alternative tools are methods too.
        max_steps: how many calls and messages an episode has.
        abstention: whether a correct abstention in S3 is rewarded.
    """
    made = get_domain(domain, data)
    profile, none = load_profile(faults), load_profile("none")
    scenarios: tuple[Scenario | None, ...] = (None, "S1", "S2", "S3")
    around = {
        scenario: EpisodeSettings(
            scenario=scenario,
            profile=none if scenario is None else profile,
            alternatives=alternatives,
            max_steps=max_steps,
        )
        for scenario in scenarios
    }
    rules = Reward(abstention=abstention)
    methods = {spec.name: _method(spec) for spec in made.tools(alternatives)}
    fixed = {"_domain": made, "_around": around, "_rules": rules}
    name = f"{made.name.capitalize()}Environment"
    return type(
        name, (StockEnvironment,), {**methods, **fixed, "__doc__": StockEnvironment.__doc__}
    )


def _method(spec: ToolSpec) -> Callable[..., str]:
    """Return a tool as a method with the signature and docstring that TRL makes its schema of."""
    schema = spec.parameters
    properties: Mapping[str, Any] = schema.get("properties", {})

    def call(self: StockEnvironment, **arguments: Any) -> str:
        return self._call(spec.name, arguments)

    types = {name: type_hint(part, schema.get("$defs", {})) for name, part in properties.items()}
    lines = [f"    {name}: {_said(part)}" for name, part in properties.items()]
    call.__name__ = call.__qualname__ = spec.name
    about = _SECTION.sub(r"\1", spec.description)
    call.__doc__ = "\n".join([about, "", *(["Args:", *lines, ""] if lines else [])])
    call.__annotations__ = {**types, "return": str}
    call.__signature__ = _signature(spec, types)  # type: ignore[attr-defined]
    return call


def _signature(spec: ToolSpec, types: Mapping[str, Any]) -> Signature:
    """Return a signature in which an argument that may be left out has a default.

    Arguments are given by name, so the tool itself never sees the default.
    """
    required = spec.parameters.get("required", ())
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    try:
        listed = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=Parameter.empty if name in required else None,
            )
            for name, kind in types.items()
        ]
    except ValueError as error:
        raise UsageError(f"The tool {spec.name} cannot be a method: {error}.") from None
    return Signature([own, *listed], return_annotation=str)


def _said(schema: Mapping[str, Any]) -> str:
    """Return the description of an argument on one line, as a docstring needs it."""
    text = " ".join(str(schema.get("description", "")).split())
    return _SECTION.sub(r"\1", text) or "See the policy."
