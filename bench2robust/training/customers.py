"""Users of training episodes that are models, asked as evaluations ask them.

Rollouts do not await. So requests are made in an event loop with a thread of its own, and a rollout
waits only where it needs the answer: the users of all rollouts that came to one are asked at the
same time, and no episode is touched by two threads.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from bench2robust.core.domain import Domain
from bench2robust.core.types import Task
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.arms import make_arms
from bench2robust.evaluation.cast import Cast, TalkingModel, check_cast, note_models
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.request_log import RequestTotals

if TYPE_CHECKING:
    from bench2robust.training.config_groups import Episodes

__all__ = ["Customer", "Customers"]

_NOTHING = RequestTotals(0, Counter(), 0, 0.0, 0)


class Customer:
    """A user of one episode that is a model; it has been asked for its first message."""

    def __init__(self, model: TalkingModel, line: _Line) -> None:
        self._model = model
        self._line = line
        self._answer: Future[str] | None = line.begin(model.simulator.open())

    def ask(self, said: str) -> None:
        """Begin to ask for the answer to ``said``; :meth:`answer` waits for it."""
        self._answer = self._line.begin(self._model.simulator.reply(said))

    def answer(self) -> str:
        """Wait for what was asked for last.

        Raises:
            InfrastructureError: the endpoint does not answer.
        """
        assert self._answer is not None, "ask first"
        answer, self._answer = self._answer, None
        return answer.result()

    def reply(self, said: str) -> str:
        """Return the answer to ``said``, which may have been asked for already."""
        if self._answer is None:
            self.ask(said)
        return self.answer()

    def note(self, record: EpisodeRecord, episode: Episode) -> None:
        """Add to a record what the user used and did wrong."""
        note_models(record, episode, None, self._model)


class Customers:
    """The users of a run that are models; the endpoint is opened with the first of them.

    Raises:
        UsageError: the address of the endpoint is none, or its key is missing.
    """

    def __init__(self, episodes: Episodes, domain: Domain) -> None:
        chat = episodes.user_chat and episodes.user_chat.model_dump(mode="json")
        self._config = EvalConfig.read({"users": episodes.user, "user_chat": chat})
        check_cast(self._config)
        (self._arm,) = make_arms(self._config, domain)
        self._line: _Line | None = None

    def meet(self, task: Task, seed: int) -> Customer:
        """Return the user of an episode, whose first message has been asked for."""
        if self._line is None:
            self._line = _Line(Cast(self._config, _unnoted, _NOTHING))
            weakref.finalize(self, self._line.close)
        model = self._line.cast.user(task, self._arm, "train", seed)
        assert model is not None  # of a user that is a model
        return Customer(model, self._line)


def _unnoted(*attempt: Any) -> None:
    """Keep no log of single requests: records say what an episode's user used."""


class _Line:
    """Open endpoints in an event loop that runs in a thread of its own."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self.begin(cast.__aenter__()).result()
        except BaseException:
            self._end()
            raise

    def begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self.begin(self.cast.__aexit__()).result(timeout=10)
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        if not self._thread.is_alive():
            self._loop.close()
