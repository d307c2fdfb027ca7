"""``bench2robust proxy``: between an MCP client and an MCP server."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from bench2robust.core.errors import UsageError, shown
from bench2robust.seams.proxy.passage import TRANSPARENT
from bench2robust.seams.proxy.stdio import StdioRelay
from bench2robust.seams.proxy.upstream import Upstream

__all__ = ["proxy"]


def proxy(
    command: Annotated[
        list[str] | None, typer.Argument(help="The server's command, after `--`.")
    ] = None,
    upstream: Annotated[
        str | None, typer.Option(help="Instead: the address of a streamable HTTP server.")
    ] = None,
    listen: Annotated[
        str, typer.Option(help="With --upstream: where to listen; port 0 is a free one.")
    ] = "127.0.0.1:8765",
) -> None:
    """Stand between an MCP client and its server.

    For example:

    * `bench2robust proxy -- npx -y @modelcontextprotocol/server-everything`
    * `bench2robust proxy --upstream http://127.0.0.1:3001/mcp`
    """
    if (upstream is None) == (not command):
        raise UsageError("Give either the command of a server after `--`, or its --upstream URL.")
    if upstream is None:
        raise typer.Exit(StdioRelay(command or [], TRANSPARENT, warn=_tell).run())
    _serve(Upstream.read(upstream), *_address(listen))


class _Open:
    def find(self, session: str | None):
        return TRANSPARENT

    def close(self, session: str) -> None: ...


def _serve(upstream: Upstream, host: str, port: int) -> None:
    try:
        from bench2robust.seams.proxy.http import HttpRelay
    except ImportError:
        raise UsageError(
            "--upstream needs an HTTP library: pip install 'bench2robust[proxy]'."
        ) from None
    relay = HttpRelay(upstream, _Open(), _tell)
    asyncio.run(relay.serve(host, port, lambda url: _tell(f"listening on {url}")))


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {shown(listen)}: give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]"), int(port)


def _tell(text: str) -> None:
    print(f"bench2robust proxy: {text}", file=sys.stderr, flush=True)
