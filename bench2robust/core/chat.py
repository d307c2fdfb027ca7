"""What a chat model is to the agents and users that talk through one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.core.errors import Bench2RobustError, InfrastructureError

__all__ = [
    "ChatModel",
    "ContextOverflowError",
    "Message",
    "Reply",
    "RunStoppedError",
    "Usage",
]

Message: TypeAlias = dict[str, Any]
"""A chat message in OpenAI's form."""


class Usage(NamedTuple):
    """Tokens of one request.

    Attributes:
        prompt: tokens read, ``cached`` ones included.
        completion: tokens written.
        cached: tokens of the prompt that the server had in its cache.
        estimated: the server did not report usage; the figures are a guess from the lengths.
    """

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False


class Reply(NamedTuple):
    """What a model answered.

    Attributes:
        text: what it wrote, empty if it wrote nothing.
        calls: its tool calls as the server sent them: unchecked.
        finish: why it stopped: ``stop``, ``length``, ``tool_calls`` …
    """

    text: str
    calls: tuple[Json, ...]
    finish: str
    usage: Usage


class ChatModel(Protocol):
    """A model that completes a chat, bound to one episode and one role in it."""

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """Return the next message.

        Raises:
            ContextOverflowError: the messages do not fit the model's context.
            InfrastructureError: the endpoint did not answer in spite of retries.
            RunStoppedError: no request of this run can succeed.
        """


class ContextOverflowError(Bench2RobustError):
    """The messages are longer than the model's context."""


class RunStoppedError(InfrastructureError):
    """No further episode can be played: the run ends, and what was played is kept."""
