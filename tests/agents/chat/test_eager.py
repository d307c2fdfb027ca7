from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from bench2robust.agents.chat.eager import write_at_once

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="the client does it itself")


class ClientRequest:
    """Has a coroutine of the name that is looked for."""

    def __init__(self, work: Callable[[], Awaitable[str]]) -> None:
        self.work = work

    async def write_bytes(self) -> str:
        """Do the work."""
        return await self.work()


ClientRequest.write_bytes.__qualname__ = "ClientRequest.write_bytes"


def _in_loop(scenario: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        write_at_once(asyncio.get_running_loop())
        await scenario()

    asyncio.run(go())


def test_what_needs_no_waiting_is_done_at_once() -> None:
    async def work() -> str:
        return "sent"

    async def scenario() -> None:
        task = asyncio.create_task(ClientRequest(work).write_bytes())
        assert task.done() and await task == "sent"

    _in_loop(scenario)


def test_what_has_to_wait_goes_on_as_a_task() -> None:
    async def scenario() -> None:
        ready = asyncio.Event()
        steps = []

        async def work() -> str:
            steps.append(1)
            await ready.wait()
            await asyncio.sleep(0)
            with pytest.raises(ValueError):
                await asyncio.wait_for(_failing(), 5)
            steps.append(2)
            return "sent"

        task = asyncio.create_task(ClientRequest(work).write_bytes())
        assert steps == [1] and not task.done()
        ready.set()
        assert await task == "sent" and steps == [1, 2]

    _in_loop(scenario)


async def _failing() -> None:
    raise ValueError


def test_it_can_be_cancelled_and_can_fail() -> None:
    async def work() -> str:
        await asyncio.sleep(60)
        return "sent"

    async def broken() -> str:
        await asyncio.sleep(0)
        raise ConnectionError

    async def at_once() -> str:
        raise ConnectionError

    async def scenario() -> None:
        task = asyncio.create_task(ClientRequest(work).write_bytes())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for failing in (broken, at_once):
            with pytest.raises(ConnectionError):
                await asyncio.create_task(ClientRequest(failing).write_bytes())

    _in_loop(scenario)


def test_other_tasks_start_as_ever() -> None:
    async def scenario() -> None:
        steps: list[int] = []

        async def other() -> None:
            steps.append(1)

        task = asyncio.create_task(other())
        assert steps == []
        await task

    _in_loop(scenario)
