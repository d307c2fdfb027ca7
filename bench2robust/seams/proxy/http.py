"""The relay over streamable HTTP: every request to an upstream's origin, and its answer.

Bodies pass as they are, and headers but for those of one connection. What belongs to the MCP
endpoint is looked at on the way: the body of a POST and, in an answer, every event of a stream or
the JSON document.
"""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from ipaddress import ip_address
from logging import Handler, Logger, LogRecord
from signal import SIGINT, SIGTERM
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from bench2robust.core.canonical import canonical
from bench2robust.seams.proxy.frames import joined
from bench2robust.seams.proxy.passage import TRANSPARENT, Passage, Rules
from bench2robust.seams.proxy.sessions import Conversations
from bench2robust.seams.proxy.splitting import EVENT, LONGEST, Splitter
from bench2robust.seams.proxy.sse import event_frame, with_frame
from bench2robust.seams.proxy.upstream import Upstream, passing

__all__ = ["HttpRelay"]

SESSION = "mcp-session-id"
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 1.0
"""A connection is not used again later. Servers close idle ones (Node after five seconds, gunicorn
after two), and a POST that meets that cannot be sent again: it may have been carried out (RFC 9110,
section 9.2.2, forbids it to a proxy)."""
_LONGEST_HEADER = 2**16
_CLOSING_SECONDS = 0.5
_EVENTS, _DOCUMENT = "text/event-stream", "application/json"
_BROKEN = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
"""A connection that there was broke off."""
_OWN = ("Content-Type", "Date", "Server")
"""Headers that aiohttp adds to an answer without them."""


class HttpRelay:
    """Stands in for an upstream's origin.

    Args:
        warn: is told what a user should know.
    """

    def __init__(
        self, upstream: Upstream, conversations: Conversations, warn: Callable[[str], None]
    ) -> None:
        self._upstream = upstream
        self._conversations = conversations
        self._warn = warn
        self._local = True
        self._client: aiohttp.ClientSession

    async def serve(self, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Serve until SIGINT or SIGTERM.

        Args:
            port: 0 for a free one.
            ready: is called with the endpoint's address once requests can come.

        Raises:
            OSError: the address cannot be listened on.
        """
        self._local = is_loopback(host)
        async with self._open() as self._client:
            runner = web.AppRunner(
                self._application(),
                access_log=None,
                handler_cancellation=True,
                shutdown_timeout=_CLOSING_SECONDS,
                logger=_one_line(self._warn),
                max_field_size=_LONGEST_HEADER,
                max_line_size=_LONGEST_HEADER,
            )
            await runner.setup()
            try:
                await web.TCPSite(runner, host, port).start()
                ready(f"http://{_written(*runner.addresses[0][:2])}{self._upstream.path}")
                await _asked_to_stop()
            finally:
                await runner.cleanup()

    def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            max_field_size=_LONGEST_HEADER,
            max_line_size=_LONGEST_HEADER,
        )

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=LONGEST)
        application.router.add_route("*", "/{path:.*}", self._handle)
        application.on_response_prepare.append(_without_own_headers)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if self._local and not is_loopback(urlsplit(f"//{request.host}").hostname or ""):
            # A web page may reach a loopback address under a name of its own (DNS rebinding).
            return web.Response(status=421, text="This proxy serves the loopback address only.\n")
        body = await request.read()
        session = request.headers.get(SESSION)
        with self._rules(request, session) as rules:
            passage = Passage(body)
            if request.method == "POST" and rules is not TRANSPARENT:
                passage = rules.from_client(body)
            if passage.onward is None:
                return web.Response(body=passage.back, content_type="application/json")
            response = await self._relayed(request, passage.onward, passage.back, rules)
        if request.method == "DELETE" and session is not None and response.status < 300:
            self._conversations.close(session)
        return response

    def _rules(self, request: web.Request, session: str | None) -> AbstractContextManager[Rules]:
        if request.rel_url.raw_path != self._upstream.path:
            return nullcontext(TRANSPARENT)
        return self._conversations.open(session)

    async def _relayed(
        self, request: web.Request, onward: bytes, back: bytes | None, rules: Rules
    ) -> web.StreamResponse:
        legible = ""
        try:
            async with await self._ask(request, onward) as answer:
                legible = _legible(answer) if rules is not TRANSPARENT else ""
                if back is not None and not legible:  # nothing that it could be joined to
                    return web.Response(body=back, content_type="application/json")
                return await self._passed_on(request, answer, legible, back, rules)
        except (aiohttp.ClientError, TimeoutError) as error:
            return self._unreachable(error)
        finally:
            if legible != _EVENTS:  # the rest of a stream may come when it is resumed
                rules.unanswered(onward)

    async def _passed_on(
        self,
        request: web.Request,
        answer: aiohttp.ClientResponse,
        legible: str,
        back: bytes | None,
        rules: Rules,
    ) -> web.StreamResponse:
        response = _Relayed(answer)
        try:
            body = await self._body(answer, response, legible, back, rules)
            await response.prepare(request)
            async for chunk in body:
                await response.write(chunk)
            await response.write_eof()
        except (aiohttp.ClientError, ConnectionError):
            _cut(request)  # as one side broke off, so must the other see it
        return response

    async def _ask(self, request: web.Request, body: bytes | None) -> aiohttp.ClientResponse:
        headers = CIMultiDict(
            (name, value)
            for name, value in passing(request.headers.items())
            if name.lower() != "accept-encoding"
        )
        headers["Accept-Encoding"] = "identity"
        return await self._client.request(
            request.method,
            URL(self._upstream.origin + request.raw_path, encoded=True),
            headers=headers,
            data=body or None,
            allow_redirects=False,
        )

    async def _body(
        self,
        answer: aiohttp.ClientResponse,
        response: _Relayed,
        legible: str,
        back: bytes | None,
        rules: Rules,
    ) -> AsyncIterator[bytes]:
        """Return what the client gets as the body of an answer; set its length if it is known."""
        if legible == _EVENTS:
            return _events(answer, back, rules)
        if legible == _DOCUMENT:
            held = await _held(answer)
            if len(held) <= LONGEST:
                seen = rules.from_server(held)
                document = seen if back is None else joined(seen, back)
                response.content_length = len(document)
                return _all_of(document)
            self._warn(f"An answer above {LONGEST:,} bytes passed without being looked at.")
            response.content_length = answer.content_length
            return _all_of(held, answer.content)
        response.content_length = answer.content_length
        return answer.content.iter_any()

    def _unreachable(self, error: Exception) -> web.Response:
        text = f"The server at {self._upstream.origin} gives no answer: {error or 'timeout'}"
        if isinstance(error, _BROKEN) and not isinstance(error, aiohttp.ClientConnectorError):
            text += ". Nobody knows whether it did what it was asked, so it was not asked again"
        self._warn(text)
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text}}
        return web.Response(status=502, text=canonical(body), content_type="application/json")


class _Relayed(web.StreamResponse):
    """The head of an upstream's answer, for the client."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        pairs = [(n.decode("latin-1"), value.decode("latin-1")) for n, value in answer.raw_headers]
        headers = CIMultiDict(passing(pairs))
        super().__init__(status=answer.status, reason=answer.reason, headers=headers)
        self.given = frozenset(name.lower() for name in headers)


def _legible(answer: aiohttp.ClientResponse) -> str:
    """Return the type of an answer that may hold results; empty if it is of another."""
    if answer.status != 200 or "content-encoding" in answer.headers:
        return ""
    return answer.content_type if answer.content_type in (_EVENTS, _DOCUMENT) else ""


async def _held(answer: aiohttp.ClientResponse) -> bytes:
    """Return a body, or a beginning of it that is longer than what may be held in memory."""
    held = bytearray()
    async for chunk in answer.content.iter_any():
        held += chunk
        if len(held) > LONGEST:
            break
    return bytes(held)


async def _all_of(
    document: bytes, rest: aiohttp.StreamReader | None = None
) -> AsyncIterator[bytes]:
    yield document
    if rest is not None:
        async for chunk in rest.iter_any():
            yield chunk


async def _events(
    answer: aiohttp.ClientResponse, back: bytes | None, rules: Rules
) -> AsyncIterator[bytes]:
    if back is not None:
        yield b"data: " + back + b"\n\n"
    splitter, start = Splitter(EVENT), True
    async for chunk in answer.content.iter_any():
        for piece in splitter.feed(chunk):
            if start and piece.data.startswith(BOM_UTF8):  # it belongs to no field
                yield BOM_UTF8
                piece = piece._replace(data=piece.data[len(BOM_UTF8) :])
            start = False
            yield _event(piece.data, rules) if piece.whole else piece.data
    for piece in splitter.rest():
        yield piece.data  # an event without its end counts for nothing


def _event(event: bytes, rules: Rules) -> bytes:
    frame = event_frame(event)
    if not frame:
        return event
    seen = rules.from_server(frame)
    return event if seen is frame else with_frame(event, seen)


async def _without_own_headers(request: web.Request, response: web.StreamResponse) -> None:
    if isinstance(response, _Relayed):
        for name in _OWN:
            if name.lower() not in response.given:
                response.headers.pop(name, None)


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine and no other can reach it."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _asked_to_stop() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (SIGINT, SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


def _one_line(warn: Callable[[str], None]) -> Logger:
    """Return a logger that tells a user what went wrong inside aiohttp, without a traceback."""

    class Line(Handler):
        def emit(self, record: LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            warn(f"{record.getMessage()}: {error!r}" if error else record.getMessage())

    logger = Logger("bench2robust.proxy")
    logger.addHandler(Line())
    return logger
