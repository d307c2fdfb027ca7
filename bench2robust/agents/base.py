"""What an agent is to the rest of the package: a generator of actions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import NamedTuple, Protocol, TypeAlias

from bench2robust.core.domain import Domain
from bench2robust.core.types import Task, ToolCall, ToolResult

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "AsyncActions",
    "AsyncAgent",
    "Brief",
    "Observation",
    "Say",
    "Unreadable",
]


class Say(NamedTuple):
    """A message to the user."""

    text: str


class Unreadable(NamedTuple):
    """Something that an agent wrote and nobody can act on.

    Attributes:
        text: as written.
        answer: what the agent is told about it.
    """

    text: str
    answer: str


Action: TypeAlias = ToolCall | Say
Observation: TypeAlias = "ToolResult | str"
"""What an action brings back: a tool's result, or the user's reply."""

Actions: TypeAlias = Generator[Action, Observation, None]
AsyncActions: TypeAlias = "AsyncGenerator[Action | Unreadable, Observation | None]"


class Agent(Protocol):
    """A policy for one episode.

    :meth:`run` yields an action and is sent what it brought back, until the episode is over; an
    agent that returns early has given up silently.
    """

    @property
    def name(self) -> str:
        """The name that records carry."""

    def run(self) -> Actions:
        """Start acting."""


class AsyncAgent(Protocol):
    """A policy whose actions need awaiting; otherwise as :class:`Agent`."""

    @property
    def name(self) -> str:
        """The name that records carry."""

    def run(self) -> AsyncActions:
        """Start acting."""


class Brief(NamedTuple):
    """What an agent is given at the start of an episode.

    Attributes:
        task: used by scripted agents for their plan; a model-driven agent must not look at it.
        opening: the user's first message.
        alternatives: whether the alternative tools are offered.
        max_steps: how many actions the agent has.
        memory: the memory block of the system prompt; empty without one.
    """

    domain: Domain
    task: Task
    opening: str
    alternatives: bool
    max_steps: int
    memory: str = ""
