"""From episodes that ask one at a time to batches for an engine."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from bench2robust.agents.checkpoint.backend import Backend, Generation, Request, generate_halving

__all__ = ["Batcher"]

_CALM = 3
"""Turns of the event loop without a new request, after which nobody is about to make one."""


class Batcher:
    """Gathers requests of interleaved episodes, open while used as an asynchronous context.

    A batch is generated in a thread of its own. Meanwhile no episode of the batch can go on, so
    those that wait only for the model move in lockstep; what the others ask goes into a later
    batch. Nothing depends on a clock: a batch is what the episodes have asked for once all have
    come to a halt, in the order of asking.

    Args:
        load: makes the backend when it is first needed, in that thread.
        size: most requests in a batch.
    """

    def __init__(self, load: Callable[[], Backend], size: int) -> None:
        self._load = load
        self._size = size
        self._backend: Backend | None = None
        self._waiting: deque[tuple[Request, asyncio.Future[Generation]]] = deque()
        self._asked = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "generate")
        self._serving: asyncio.Task[None]

    async def __aenter__(self) -> Batcher:
        self._serving = asyncio.create_task(self._serve())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._serving.cancel()
        if self._backend is not None:
            self._backend.close()
        self._thread.shutdown()
        with suppress(asyncio.CancelledError):
            await self._serving

    async def ask(self, request: Request) -> Generation:
        """Return what the model makes of a request.

        Raises:
            OutOfMemoryError: it does not fit, even alone.
            LoadError: the model cannot be loaded.
        """
        future: asyncio.Future[Generation] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._asked.set()
        return await future

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._asked.wait()
            await self._calm()
            batch = [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]
            if not self._waiting:
                self._asked.clear()
            requests = [request for request, _ in batch]
            results = await loop.run_in_executor(self._thread, self._generate, requests)
            for (_, future), result in zip(batch, results, strict=True):
                _settle(future, result)

    async def _calm(self) -> None:
        """Wait until no episode is about to ask for something more, or a batch is full."""
        quiet = 0
        while quiet < _CALM and len(self._waiting) < self._size:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    def _generate(self, requests: list[Request]) -> list[Generation | Exception]:
        try:
            if self._backend is None:
                self._backend = self._load()
            return [*generate_halving(self._backend, requests)]
        except Exception as error:
            return [error] * len(requests)


def _settle(future: asyncio.Future[Generation], result: Generation | Exception) -> None:
    if future.done():  # cancelled, for the run is ending
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
