"""A real chat-completions server that plays the plan of its tasks, and misbehaves on command.

The model is deterministic: it finds its task by the user's first message, lets a scripted agent run
through the dialogue so far, and answers with that agent's next action. ``python misbehaving.py
PORT`` serves alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bench2robust.agents import Brief, Say, make_agent
from bench2robust.core.types import Task, ToolResult
from bench2robust.domains import get_domain
from bench2robust.users import ScriptedUser

STRATEGY = "scripted:retry_switch"
TROUBLES = ("down", "slow", "429", "429 retry-after", "500", "html", "truncated", "mid-stream")
"""What may pass: tried again, these must leave no trace in the episodes."""
Body = dict[str, Any]
Policy = Callable[[Body], dict[str, Any]]
"""From a request to the message that answers it."""


def plan_policy(body: Body) -> dict[str, Any]:
    """Answer with the next action of a scripted agent."""
    domain = get_domain("retail")
    messages = body["messages"]
    task = _tasks()[messages[1]["content"]]
    alternatives = len(body.get("tools", ())) > len(domain.tools())
    brief = Brief(domain, task, messages[1]["content"], alternatives, 25)
    run = make_agent(STRATEGY, brief).run()
    action = next(run)
    for message in messages[2:]:
        if message["role"] == "tool":
            content = message["content"]
            action = run.send(ToolResult(content, content.startswith("Error")))
        elif message["role"] == "user":
            action = run.send(message["content"])
    if isinstance(action, Say):
        return {"content": action.text}
    return {"content": None, "tool_calls": [call(action.name, json.dumps(action.arguments))]}


def user_policy(body: Body) -> dict[str, Any]:
    """Answer as the scripted user of the task whose instructions are in the prompt."""
    prompt, *dialogue = body["messages"]
    task = next(t for t in _tasks().values() if t.user.instructions in prompt["content"])
    user = ScriptedUser(task.user)
    said = user.open()
    for message in dialogue[1:]:
        if message["role"] == "user":
            said = user.reply(message["content"])
    return {"content": said}


def clumsy_policy(body: Body) -> dict[str, Any]:
    """Answer with an agent's own blunders first, one of each, and then as the plan has it."""
    system, opening, *dialogue = body["messages"]
    turn = sum(message["role"] == "assistant" for message in dialogue)
    if turn < len(BLUNDERS):
        return BLUNDERS[turn]
    return plan_policy({**body, "messages": [system, opening, *dialogue[ANSWERED_BLUNDERS:]]})


def any_policy(body: Body) -> dict[str, Any]:
    """Answer as the user to the model ``user``, clumsily to ``clumsy``, else with the plan."""
    policies = {"user": user_policy, "clumsy": clumsy_policy}
    return policies.get(body["model"], plan_policy)(body)


def call(name: str, arguments: str, number: int = 0) -> dict[str, Any]:
    """Return an entry of ``tool_calls``."""
    function = {"name": name, "arguments": arguments}
    return {"id": f"c{number}", "type": "function", "function": function}


BLUNDERS: tuple[dict[str, Any], ...] = (
    {"content": None, "tool_calls": [call("get_ordr", "{}")]},
    {"content": None, "tool_calls": [call("get_order_details", "{order_id: 1")]},
    {"content": None, "tool_calls": [call("list_all_product_types", "{}", n) for n in (0, 1)]},
    {"content": ""},
)
"""An unknown tool, arguments that are no JSON, two calls at once, and nothing at all."""
ANSWERED_BLUNDERS = 9
"""Messages that these and their answers leave in the dialogue; two calls have two answers."""


def _tasks(found: dict[str, Task] = {}) -> dict[str, Task]:  # noqa: B006
    if not found:
        found.update({task.user.opening: task for task in get_domain("retail").tasks()})
    return found


class Server:
    """Serves in a thread until closed.

    Args:
        policy: the model.
        troubles: what to do, in turn, when a body is seen for the first time; a name of
            ``TROUBLES``, a raw answer, or nothing.
        port: 0 for any free one.
        key: if given, requests with another key are refused.
    """

    def __init__(
        self,
        policy: Policy = plan_policy,
        troubles: Sequence[str | bytes] = (),
        port: int = 0,
        key: str | None = None,
        latency: float = 0.0,
    ) -> None:
        self.bodies: list[Body] = []
        self.done: Counter[str] = Counter()
        self.waits: defaultdict[bytes, list[float]] = defaultdict(list)
        self.headers: list[dict[str, str]] = []
        self.busiest = 0
        self._now = 0
        self._policy, self._key, self._latency = policy, key, latency
        self._troubles = tuple(troubles)
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self._listen(port))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Stop serving: connections break off."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def _listen(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", port, limit=2**24)

    async def _stop(self) -> None:
        self._server.close()
        rest = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False to close the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = (line.partition(":") for line in head.splitlines()[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in lines}
        raw = await reader.readexactly(int(headers["content-length"]))
        self._now += 1
        self.busiest = max(self.busiest, self._now)
        try:
            await asyncio.sleep(self._latency)
            return await self._reply(headers, raw, writer)
        finally:
            self._now -= 1

    async def _reply(
        self, headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        self.headers.append(headers)
        seen = self.waits[raw]
        seen.append(time.perf_counter())
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            said = {"error": {"message": f"wrong key {headers.get('authorization')}"}}
            writer.write(http(401, json.dumps(said)))
            return True
        if self._troubles and len(seen) == 1:
            trouble = self._troubles[(len(self.waits) - 1) % len(self._troubles)]
            if trouble:
                return await self._misbehave(trouble, raw, writer)
        self.bodies.append(json.loads(raw))
        writer.write(self._good(raw))
        return True

    def _good(self, raw: bytes) -> bytes:
        return http(200, completion(self._policy(json.loads(raw)), raw))

    async def _misbehave(
        self, trouble: str | bytes, raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        self.done[trouble if isinstance(trouble, str) else "raw"] += 1
        good = self._good(raw)
        if isinstance(trouble, bytes):
            writer.write(trouble)
        elif trouble == "slow":
            await asyncio.sleep(30)
        elif trouble == "429":
            writer.write(http(429, '{"error": {"message": "slow down"}}'))
        elif trouble == "429 retry-after":
            writer.write(http(429, "{}", ("Retry-After: 0.3",)))
        elif trouble == "500":
            writer.write(http(500, "Internal Server Error"))
        elif trouble == "html":
            writer.write(http(200, "<html><body>Bad gateway</body></html>"))
        elif trouble == "truncated":
            body = good.partition(b"\r\n\r\n")[2].decode()
            writer.write(http(200, body[: len(body) // 2]))
        elif trouble == "mid-stream":
            writer.write(good[:-20])
            await writer.drain()
        return trouble not in ("down", "mid-stream")


def completion(message: dict[str, Any], raw: bytes = b"", finish: str = "stop") -> str:
    """Return a chat completion."""
    usage = {"prompt_tokens": len(raw) // 4, "completion_tokens": 7}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


def http(status: int, body: str, headers: Iterable[str] = ()) -> bytes:
    """Return an answer."""
    data = body.encode()
    head = (f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}",
            "Content-Type: application/json", *headers)  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


if __name__ == "__main__":
    server = Server(any_policy, port=int(sys.argv[1]), troubles=sys.argv[2:])
    print(server.port, flush=True)
    threading.Event().wait()
