"""What generates text for many episodes at once, whatever the engine.

Evaluation and training's rollouts feed it alike: a batch of dialogues goes in, one message each
comes out. Nothing here knows torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from bench2robust.core.chat import Message
from bench2robust.core.errors import InfrastructureError

__all__ = ["Backend", "Finish", "Generation", "OutOfMemoryError", "Request", "generate_halving"]

Finish = Literal["stop", "length", "overflow"]
"""``stop``: the model ended its message; ``length``: the limit of new tokens did; ``overflow``: the
dialogue leaves no room for a message, and nothing was generated."""


class OutOfMemoryError(InfrastructureError):
    """A batch does not fit the memory of the device; smaller ones may."""


class Request(NamedTuple):
    """One dialogue whose next message is wanted.

    Attributes:
        tools: in OpenAI's form; empty for none.
        key: what sampling depends on, apart from the model: equal keys, equal draws.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]]
    key: tuple[str | int, ...]


class Generation(NamedTuple):
    """What a request brought.

    Attributes:
        text: without the token that ends a message.
        prompt: the tokens that were read.
        completion: the tokens that were written, the one that ends a message included.
    """

    text: str
    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    finish: Finish


class Backend(Protocol):
    """An engine with a model in it."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one generation per request, in their order.

        Raises:
            OutOfMemoryError: the batch does not fit.
        """

    def close(self) -> None:
        """Let a running :meth:`generate`, of another thread, return early; no other will come."""


def generate_halving(
    backend: Backend, requests: Sequence[Request]
) -> list[Generation | OutOfMemoryError]:
    """Generate, in halves where the whole does not fit; a request that fits nowhere gets an error.

    Running out of memory is never an agent's doing: see :mod:`bench2robust.core.errors`.
    """
    try:
        return [*backend.generate(requests)]
    except OutOfMemoryError as error:
        if len(requests) == 1:
            return [error]
    middle = len(requests) // 2
    first = generate_halving(backend, requests[:middle])
    return first + generate_halving(backend, requests[middle:])
