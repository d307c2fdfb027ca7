"""A chat-completions endpoint: requests, tried again while that may help, and all accounted for.

What a server can do wrong falls into three kinds. What may pass (no connection, a timeout, 408,
409, 429, 5xx, an answer that is no completion) is tried again with backoff, and at last raises
``InfrastructureError``. What concerns one request alone (other 4xx) raises it at once. What no
request can survive (a refused key, no such model, nobody there for a long time, the budget used
up) raises ``RunStoppedError``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bench2robust.agents.chat.address import Address
from bench2robust.agents.chat.backoff import Patience, retry_after
from bench2robust.agents.chat.eager import write_at_once
from bench2robust.agents.chat.prices import Price
from bench2robust.agents.chat.spending import Budget, Spending
from bench2robust.agents.chat.wire import (
    MAX_ANSWER,
    BrokenAnswerError,
    Encoder,
    is_overflow,
    problem,
    read_reply,
)
from bench2robust.core.chat import (
    ContextOverflowError,
    Message,
    Reply,
    RunStoppedError,
    Usage,
)
from bench2robust.core.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Attempt", "Endpoint", "EpisodeLine", "Log", "RefusedError"]

GIVE_UP = 20
"""So many requests in a row that were lost in spite of all attempts end the run."""
_PASSING = frozenset((408, 409, 425, 429))
_FATAL = frozenset((401, 402, 403, 404, 405))


class RefusedError(RunStoppedError, UsageError):
    """The endpoint refuses every request: a wrong key, model or address."""


class Attempt(NamedTuple):
    """One attempt at one request, for the sidecar of a run.

    Attributes:
        request: its number within the episode and role, from 1.
        attempt: from 1.
        outcome: ``ok``, ``http 429``, ``timeout``, ``connection``, ``broken answer`` …
        seconds: how long it took.
        wait: how long was waited after it before the next; 0 if there was none.
        usage: where it was answered.
        cost: US dollars, where the price is known.
    """

    request: int
    attempt: int
    outcome: str
    seconds: float
    wait: float = 0.0
    usage: Usage | None = None
    cost: float | None = None


Log: TypeAlias = Callable[[Attempt], None]


class _Trouble(NamedTuple):
    """An attempt that failed, and may go well another time if ``passing``."""

    outcome: str
    detail: str
    passing: bool
    asked: float | None = None


class Endpoint:
    """One model at one address, open while used as an asynchronous context.

    Args:
        sampling: further fields of every request, such as ``temperature``.
        price: what its tokens cost; None if that is not known.
        budget: shared by all endpoints of a run.
    """

    def __init__(
        self,
        address: Address,
        model: str,
        sampling: Mapping[str, Any],
        patience: Patience,
        price: Price | None,
        budget: Budget,
    ) -> None:
        self.address = address
        self.model = model
        self.price = price
        self.budget = budget
        self.sampling = dict(sampling)
        self._patience = patience
        self._url = f"{address.base_url}/chat/completions"
        self._lost = 0
        self._open_from = 0.0
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Endpoint:
        try:
            import aiohttp
        except ImportError:
            raise UsageError(
                "Chat models need an HTTP client: pip install 'bench2robust[chat]'."
            ) from None
        write_at_once(asyncio.get_running_loop())
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self.address.headers,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=self._patience.timeout),
            trust_env=not self.address.local,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.close()

    async def ask(self, line: EpisodeLine, body: bytes) -> Reply:
        """Send a request until it is answered.

        Raises:
            ContextOverflowError: its messages do not fit the model's context.
            InfrastructureError: it was not answered in spite of all attempts.
            RunStoppedError: no request can be answered any more.
        """
        attempt = 0
        while True:
            attempt += 1
            self.budget.check()
            await self._gate()
            started = perf_counter()
            try:
                answer = await self._once(body)
            except (ContextOverflowError, RunStoppedError) as error:
                line.note(attempt, type(error).__name__, perf_counter() - started)
                raise
            seconds = perf_counter() - started
            if isinstance(answer, Reply):
                self._lost = 0
                line.count(attempt, seconds, answer.usage)
                return answer
            wait = self._wait(line, attempt, answer)
            line.note(attempt, answer.outcome, seconds, wait or 0.0)
            if wait is None:
                raise self._give_up(answer, attempt)
            await asyncio.sleep(wait)

    async def _once(self, body: bytes) -> Reply | _Trouble:
        from aiohttp import ClientError

        try:
            async with self._session.post(self._url, data=body, allow_redirects=False) as answer:
                text = self.address.hide(await _text(answer))
            if answer.status == 200:
                return read_reply(text, len(body))
            return self._judge(answer.status, answer.headers.get("Retry-After"), text)
        except BrokenAnswerError as error:
            return _Trouble("broken answer", str(error), True)
        except TimeoutError:
            return _Trouble("timeout", f"no answer in {self._patience.timeout:g} s", True)
        except (ClientError, OSError) as error:
            return _Trouble("connection", self.address.hide(f"{error}") or repr(error), True)

    def _judge(self, status: int, asked: str | None, text: str) -> _Trouble:
        """Say what an error status means for the request."""
        if is_overflow(status, text):
            raise ContextOverflowError(problem(text))
        if status in _FATAL or 300 <= status < 400:
            raise RefusedError(self._refusal(status, problem(text)))
        passing = status in _PASSING or status >= 500
        return _Trouble(f"http {status}", problem(text), passing, retry_after(asked))

    def _refusal(self, status: int, said: str) -> str:
        address = self.address
        where = f"{address.base_url} answers {status} to the model {self.model!r}: {said}."
        if status in (401, 403):
            key = f"the key in {address.key_name}" if address.key_name else "no key was sent"
            return f"{where} Check {key}; api_key_env names the variable that holds the key."
        return f"{where} Check base_url and the name of the model."

    async def _gate(self) -> None:
        """Wait while the server has asked everybody to."""
        while (left := self._open_from - perf_counter()) > 0:
            await asyncio.sleep(left)

    def _wait(self, line: EpisodeLine, attempt: int, trouble: _Trouble) -> float | None:
        """Return how long to wait; None if there is no use in another attempt."""
        patience, asked = self._patience, trouble.asked
        if not trouble.passing or attempt == patience.attempts:
            return None
        if asked is not None:
            if asked > patience.asked:
                return None
            self._open_from = max(self._open_from, perf_counter() + asked)
        return patience.wait(attempt, asked, *line.key, line.requests)

    def _give_up(self, trouble: _Trouble, attempts: int) -> InfrastructureError:
        said = f"{trouble.outcome}: {trouble.detail}"
        text = f"{self.address.base_url} did not answer in {attempts} attempts; the last: {said}"
        self._lost += trouble.passing
        if self._lost < GIVE_UP:
            return InfrastructureError(text)
        return RunStoppedError(
            f"{GIVE_UP} requests in a row were lost. {text}. What was played is kept, and the "
            "same command goes on once the endpoint is back."
        )


async def _text(answer: aiohttp.ClientResponse) -> str:
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER:
            raise BrokenAnswerError(f"longer than {MAX_ANSWER} bytes")
    return b"".join(parts).decode("utf-8", "replace")


class EpisodeLine:
    """An endpoint as one role of one episode uses it; a :class:`~bench2robust.core.chat.ChatModel`.

    Args:
        key: what the episode and the role are, for jitter and log.
        extra: further fields of every request of this episode.
        log: is told of every attempt.
    """

    def __init__(
        self, endpoint: Endpoint, key: tuple[str | int, ...], extra: Mapping[str, Any], log: Log
    ) -> None:
        self.key = key
        self.spending = Spending()
        self.requests = 0
        self._endpoint = endpoint
        self._encoder = Encoder(endpoint.model, {**endpoint.sampling, **extra})
        self._log = log

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """Return the model's next message; see :class:`~bench2robust.core.chat.ChatModel`."""
        self.requests += 1
        return await self._endpoint.ask(self, self._encoder.encode(messages, tools))

    def note(self, attempt: int, outcome: str, seconds: float, wait: float = 0.0) -> None:
        """Log an attempt that failed."""
        self._log(Attempt(self.requests, attempt, outcome, seconds, wait))

    def count(self, attempt: int, seconds: float, usage: Usage) -> None:
        """Log and count an attempt that was answered."""
        price = self._endpoint.price
        self.spending.add(usage, price)
        self._endpoint.budget.add(usage, price)
        cost = price.of(usage) if price else None
        self._log(Attempt(self.requests, attempt, "ok", seconds, 0.0, usage, cost))
