"""Bytes on a TCP connection, passed on and kept, and the HTTP messages in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import h11


class Exchange(NamedTuple):
    """A request and its answer: what matters of the heads, and the bodies."""

    method: str
    path: str
    named: tuple[tuple[bytes, bytes], ...]
    body: bytes
    status: int
    answer: bytes


class Tap:
    """Listens before a server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._kept: list[tuple[bytearray, bytearray]] = []
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Tap]:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up, down = await asyncio.open_connection("127.0.0.1", self._port)
        kept = bytearray(), bytearray()
        self._kept.append(kept)
        await asyncio.gather(_copy(reader, down, kept[0]), _copy(up, writer, kept[1]))

    def exchanges(self) -> list[Exchange]:
        """Return what was said, in an order that does not depend on connections."""
        return sorted(found for kept in self._kept for found in _read(*map(bytes, kept)))


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray
) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            kept += chunk
            writer.write(chunk)
            await writer.drain()
    with suppress(ConnectionError):
        writer.close()


def _read(asked: bytes, answered: bytes) -> list[Exchange]:
    requests = _messages(h11.SERVER, asked, [])
    methods = [head.method for head, _ in requests]
    answers = _messages(h11.CLIENT, answered, methods)
    return [
        Exchange(
            request.method.decode(),
            request.target.decode(),
            tuple(sorted((n, v) for n, v in request.headers if n.startswith(b"mcp-"))),
            body,
            answer.status_code,
            answer_body,
        )
        for (request, body), (answer, answer_body) in zip(requests, answers, strict=False)
    ]


def _messages(role: type, stream: bytes, methods: list[bytes]) -> list[tuple[object, bytes]]:
    """Return the heads and bodies in one direction of a connection."""
    found: list[tuple[object, bytes]] = []
    connection = _fresh(role, methods, 0)
    connection.receive_data(stream)
    connection.receive_data(b"")
    head, body = None, b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            event = None  # it broke off
        if isinstance(event, (h11.Request, h11.Response)):
            head, body = event, b""
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            found.append((head, body))
            rest = connection.trailing_data[0]
            if not rest:
                return found
            connection = _fresh(role, methods, len(found))
            connection.receive_data(rest)
            connection.receive_data(b"")
        else:
            if head is not None and (not found or found[-1][0] is not head):
                found.append((head, body))
            return found


def _fresh(role: type, methods: list[bytes], number: int) -> h11.Connection:
    connection = h11.Connection(role)
    if role is h11.CLIENT and number < len(methods):
        connection.send(h11.Request(method=methods[number], target="/", headers=[("host", "x")]))
        connection.send(h11.EndOfMessage())
    return connection
