"""A checkpoint as one episode uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from bench2robust.agents.chat import Attempt, Budget, Spending
from bench2robust.agents.chat.endpoint import Log
from bench2robust.agents.checkpoint.backend import Generation, Request
from bench2robust.agents.checkpoint.batching import Batcher
from bench2robust.core.chat import ContextOverflowError, Message, Reply, Usage

__all__ = ["CheckpointLine"]


class CheckpointLine:
    """A :class:`~bench2robust.core.chat.ChatModel`, which counts what it uses.

    Its calls are text, in the model's own format: whoever asks reads them.

    Args:
        key: what the samples of the episode depend on.
        budget: shared by all models of a run.
        log: is told of every request.
    """

    def __init__(
        self, batcher: Batcher, key: tuple[str | int, ...], budget: Budget, log: Log
    ) -> None:
        self.spending = Spending()
        self._batcher = batcher
        self._key = key
        self._budget = budget
        self._log = log
        self._requests = 0

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """Return the model's next message; see :class:`~bench2robust.core.chat.ChatModel`."""
        self._budget.check()
        self._requests += 1
        started = perf_counter()
        request = Request(tuple(messages), tools, (*self._key, self._requests))
        try:
            made = await self._batcher.ask(request)
            _check_room(made)
        except Exception as error:
            self._note(type(error).__name__, started)
            raise
        usage = Usage(len(made.prompt), len(made.completion))
        self.spending.add(usage, None)
        self._budget.add(usage, None)
        self._note("ok", started, usage)
        return Reply(made.text, (), made.finish, usage)

    def _note(self, outcome: str, started: float, usage: Usage | None = None) -> None:
        seconds = perf_counter() - started
        self._log(Attempt(self._requests, 1, outcome, seconds, 0.0, usage))


def _check_room(made: Generation) -> None:
    if made.finish == "overflow":
        raise ContextOverflowError(
            f"{len(made.prompt):,} tokens leave no room for an answer: see checkpoint.context"
        )
