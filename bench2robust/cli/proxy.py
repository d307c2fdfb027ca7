"""``bench2robust proxy``: between an MCP client and an MCP server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from bench2robust.core.errors import UsageError, shown
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.loop_guard import LoopRule
from bench2robust.seams.proxy.exchange import Exchange
from bench2robust.seams.proxy.passage import TRANSPARENT, Careful, Rules
from bench2robust.seams.proxy.session import Session
from bench2robust.seams.proxy.sessions import Conversations, Sessions, Transparent
from bench2robust.seams.proxy.status import Status
from bench2robust.seams.proxy.stdio import StdioRelay
from bench2robust.seams.proxy.upstream import Upstream
from bench2robust.seams.seam import Delivery, Seam, SeamOptions

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
    faults: Annotated[
        str, typer.Option("--faults", "-f", help="A fault plan: a name or a YAML file.")
    ] = "none",
    seed: Annotated[int, typer.Option(help="The seed of every draw.")] = 0,
    task: Annotated[str, typer.Option(help="With the seed, the key of every draw.")] = "",
    block: Annotated[
        list[str] | None, typer.Option(help="A tool that never answers; may be repeated.")
    ] = None,
    contract: Annotated[
        str | None,
        typer.Option("--contract", "-c", help="A contract file, or `declared` for the schemas."),
    ] = None,
    arm: Annotated[
        str, typer.Option(help="What is said of a result that breaks the contract.")
    ] = "advisory",
    loop_guard: Annotated[
        bool, typer.Option("--loop-guard", help="Say so when calls go in circles.")
    ] = False,
    cap: Annotated[int | None, typer.Option(help="Turn calls away after so many.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line of counts.")] = False,
) -> None:
    """Stand between an MCP client and its server.

    Put the command of the proxy where the server's command was in the client's configuration. With
    no options every byte passes as it is. Over HTTP each session meets the same faults anew.

    For example:

    * `bench2robust proxy --faults paper --seed 7 -- npx -y @modelcontextprotocol/server-memory`
    * `bench2robust proxy --contract declared -- uvx mcp-server-time`
    * `bench2robust proxy --upstream http://127.0.0.1:3001/mcp --faults realistic`
    """
    if (upstream is None) == (not command):
        raise UsageError("Give either the command of a server after `--`, or its --upstream URL.")
    options = SeamOptions(
        faults=faults,
        seed=seed,
        task=task,
        blocked=block or (),
        contract=contract,
        arm=arm,
        loop=LoopRule() if loop_guard else None,
        cap=cap,
    )
    status = Status(quiet=quiet)
    acts = bool(faults != "none" or block or contract or loop_guard or cap)
    try:
        if upstream is None:
            rules = _rules(options, status) if acts else TRANSPARENT
            raise typer.Exit(StdioRelay(command or [], rules, warn=status.warn).run())
        _serve(Upstream.read(upstream), _address(listen), _sessions(options, status, acts), status)
    finally:
        status.close()


def _session(options: SeamOptions, status: Status) -> Session:
    def noted(call: ToolCall, result: ToolResult | None, delivery: Delivery) -> None:
        status.add(delivery)

    return Session(Seam(**options), noted, status.warn)


def _rules(options: SeamOptions, status: Status) -> Rules:
    return Careful(Exchange(_session(options, status)), status.warn)


def _sessions(options: SeamOptions, status: Status, acts: bool) -> Conversations:
    if not acts:
        return Transparent()
    _session(options, status)  # what is wrong with the options is told before anybody connects
    return Sessions(lambda: _session(options, status), status.warn)


def _serve(
    upstream: Upstream, address: tuple[str, int], conversations: Conversations, status: Status
) -> None:
    try:
        from bench2robust.seams.proxy.http import HttpRelay
    except ImportError:
        raise UsageError(
            "--upstream needs an HTTP library: pip install 'bench2robust[proxy]'."
        ) from None
    relay = HttpRelay(upstream, conversations, status.warn)
    asyncio.run(relay.serve(*address, lambda url: status.warn(f"listening on {url}")))


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {shown(listen)}: give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]"), int(port)
