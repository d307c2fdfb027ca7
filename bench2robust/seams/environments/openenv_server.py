"""An environment server for OpenEnv.

``uvicorn --factory bench2robust.seams.environments.openenv_server:app`` serves the built-in retail
suite; give :func:`app` the values of a :class:`~bench2robust.seams.environments.World` for another.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from bench2robust.agents.messages import Message
from bench2robust.core.errors import UsageError
from bench2robust.seams.environments.text import TextEpisode, World

__all__ = ["OpenEnvEnvironment", "TextAction", "TextObservation", "app"]


class TextAction(Action):
    """What the policy wrote: a call, or words to the user."""

    text: str


class TextObservation(Observation):
    """What came back; at the start of an episode also the messages that it begins with."""

    text: str
    messages: tuple[Message, ...] = ()


class OpenEnvEnvironment(Environment[TextAction, TextObservation, State]):
    """One session.

    ``reset`` takes ``task``, ``seed`` and ``scenario``; without a task the seed draws one.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._episode: TextEpisode | None = None
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        scenario: Literal["S1", "S2", "S3"] | None = None,
        **other: Any,
    ) -> TextObservation:
        """Start an episode."""
        if other:
            raise UsageError(f"reset takes task, seed and scenario, not {', '.join(other)}")
        self._episode = self._world.start(task, seed or 0, scenario)
        self._state = State(episode_id=episode_id)
        messages = tuple(self._episode.messages)
        return TextObservation(text=messages[-1]["content"], messages=messages)

    def step(
        self, action: TextAction, timeout_s: float | None = None, **other: Any
    ) -> TextObservation:
        """Do what the policy's text asks for; the reward comes at the end."""
        if self._episode is None:
            raise UsageError("reset the environment first")
        text = self._episode.step(action.text)
        self._state.step_count += 1
        done = self._episode.done
        reward = self._episode.reward if done else 0.0
        return TextObservation(text=text, done=done, reward=reward)

    @property
    def state(self) -> State:
        """How far the episode is."""
        return self._state


def app(max_concurrent_envs: int = 64, **world: Any) -> FastAPI:
    """Return the server; ``world`` holds values of a :class:`World`."""
    around = World(**world)
    around.tasks()  # what is wrong with the data is told before the first request
    return create_fastapi_app(
        lambda: OpenEnvEnvironment(around),
        TextAction,
        TextObservation,
        max_concurrent_envs=max_concurrent_envs,
    )
