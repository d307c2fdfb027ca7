"""A real streamable HTTP server, in this process, around the messages of ``tool_server``.

``X-Answer`` says how a POST is answered: ``json``, ``sse``, ``cut`` (the stream breaks off before
the answer, which a resumed one brings), ``die`` (the connection breaks off), ``hang up`` (so it
does before anything came), ``fail`` (a status of 503), ``endless`` (a document without its length)
or ``wait``. ``frame`` is how an event is written instead.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Shop:
    """The server; ``seen`` are its requests."""

    answers: object
    seen: list[Seen] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    left: int = 0
    sessions: int = 0
    frame: str = ""

    def application(self) -> web.Application:
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/mcp", self._mcp)
        application.router.add_route("*", "/{path:.*}", self._other)
        return application

    async def _note(self, request: web.Request) -> bytes:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(request.method, request.raw_path, headers, body))
        return body

    async def _other(self, request: web.Request) -> web.Response:
        body = await self._note(request)
        headers = [("X-Twice", "1"), ("X-Twice", "2")]
        return web.Response(
            status=418, body=b"\x00\xff" + body, headers=headers, content_type="x/y"
        )

    async def _mcp(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        if request.method == "DELETE":
            return web.Response(status=204)
        if request.method == "GET":
            return await self._stream(request)
        how = request.headers.get("X-Answer", "json")
        frames = list(self.answers.frames(body))  # type: ignore[attr-defined]
        if how == "wait":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.left += 1
                raise
        if how == "hang up":
            assert request.transport is not None
            request.transport.abort()
        if how == "fail":
            return web.Response(status=503)
        if not frames:
            return web.Response(status=202)
        if how == "endless":
            return await self._endless(request, frames[-1])
        if how == "json":
            session = {}
            if b'"initialize"' in body:
                self.sessions += 1
                session = {"Mcp-Session-Id": f"s{self.sessions}"}
            return web.Response(body=frames[-1], content_type="application/json", headers=session)
        return await self._events(request, frames, how)

    async def _endless(self, request: web.Request, document: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(document[:60_000])
        await response.write(document[60_000:])
        await response.write_eof()
        return response

    async def _events(
        self, request: web.Request, frames: list[bytes], how: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if self.frame:
            before, after = self.frame.encode().split(b"%s")
            await response.write(before + frames[-1] + after)
            return response
        await response.write(b"id: 0\r\ndata: \r\n\r\n")
        if how in ("cut", "die"):
            self.kept = frames
            assert request.transport is not None
            if how == "cut":
                await response.write_eof()
            else:
                request.transport.abort()
            return response
        for number, frame in enumerate(frames, start=1):
            event = b": note\nevent: message\nid: %d\ndata: %s\nretry: 5\n\n" % (number, frame)
            for at in range(0, len(event), 50_000):
                await response.write(event[at : at + 50_000])
        await response.write_eof()
        return response

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for number, frame in enumerate(self.kept, start=1):
            await response.write(b"id: %d\ndata: %s\n\n" % (number, frame))
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}).encode()
        await response.write(b"data: " + note + b"\n\n")
        if not self.kept:
            await asyncio.sleep(60)
        return response


@asynccontextmanager
async def serving(
    shop: Shop, port: int = 0, context: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Serve, and yield the address of the MCP endpoint."""
    runner = web.AppRunner(shop.application(), handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        scheme = "https" if context else "http"
        yield f"{scheme}://localhost:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def proxying(url: str, command: list[str], env: dict[str, str]) -> AsyncIterator[Proxy]:
    """Run a proxy before a server, and yield where it is."""
    process = await asyncio.create_subprocess_exec(
        *command, "--upstream", url, "--listen", "127.0.0.1:0",
        stderr=asyncio.subprocess.PIPE, env=env)  # fmt: skip
    assert process.stderr is not None
    proxy = Proxy(process)
    reader = asyncio.create_task(proxy.listen(process.stderr))
    try:
        await asyncio.wait_for(proxy.ready.wait(), 30)
        yield proxy
    finally:
        if process.returncode is None:
            process.terminate()
        code = await asyncio.wait_for(process.wait(), 30)
        await reader
        assert code == 0 and "Traceback" not in proxy.said, proxy.said


class Proxy:
    """A running proxy."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready = asyncio.Event()
        self.url = self.said = ""

    async def listen(self, stream: asyncio.StreamReader) -> None:
        async for raw in stream:
            line = raw.decode()
            self.said += line
            if "listening on " in line:
                self.url = line.split("listening on ")[1].strip()
                self.ready.set()
        self.ready.set()
