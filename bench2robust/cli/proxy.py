"""``bench2robust proxy``: between an MCP client and an MCP server."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from bench2robust.core.errors import UsageError, shown
from bench2robust.monitors.loop_guard import LoopRule
from bench2robust.seams.options import SeamOptions
from bench2robust.seams.proxy.exchange import Exchange
from bench2robust.seams.proxy.passage import TRANSPARENT, Careful
from bench2robust.seams.proxy.session import Session
from bench2robust.seams.proxy.sessions import Conversations, Sessions, Transparent
from bench2robust.seams.proxy.status import Status
from bench2robust.seams.proxy.stdio import StdioRelay
from bench2robust.seams.proxy.upstream import Upstream
from bench2robust.seams.seam import ARM, Seam

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
    ] = ARM,
    loop_guard: Annotated[
        bool, typer.Option("--loop-guard", help="Say so when calls go in circles.")
    ] = False,
    cap: Annotated[int | None, typer.Option(help="Turn calls away after so many.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Append an episode record to this file.")
    ] = None,
    redact: Annotated[
        list[str] | None,
        typer.Option(help="A field, or a /pattern/, that no record may hold; may be repeated."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Repeat the faults of the last episode of this record.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line of counts.")] = False,
) -> None:
    """Stand between an MCP client and its server.

    In the client's configuration, this command takes the place of the server's. Without options
    every byte passes as it is. Over HTTP, each session is an episode of its own.

    For example:

    * `bench2robust proxy --faults paper --seed 7 -- npx -y @modelcontextprotocol/server-memory`
    * `bench2robust proxy --contract declared --record calls.jsonl -- uvx mcp-server-time`
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
        record=record,
        redact=redact or (),
        replay=replay,
    )
    status = Status(quiet=quiet)
    acts = faults != "none" or any((block, contract, loop_guard, record, replay))
    acts = (
        acts or cap is not None or arm != ARM
    )  # what is wrong or idle is told of, not passed over
    with closing(status):
        if upstream is None:
            raise typer.Exit(_relay(command or [], options if acts else None, status))
        _serve(Upstream.read(upstream), _address(listen), options if acts else None, status)


def _session(options: SeamOptions, status: Status) -> Session:
    start = monotonic()
    timed: SeamOptions = {**options, "clock": lambda: monotonic() - start}
    seam = Seam(**timed)
    for text in seam.leftovers:
        status.warn(text)
    return Session(seam, status.add, status.warn)


def _relay(command: list[str], options: SeamOptions | None, status: Status) -> int:
    if options is None:
        return StdioRelay(command, TRANSPARENT, warn=status.warn).run()
    with closing(_session(options, status)) as session:
        rules = Careful(Exchange(session), status.warn)
        return StdioRelay(command, rules, warn=status.warn).run()


def _serve(
    upstream: Upstream, address: tuple[str, int], options: SeamOptions | None, status: Status
) -> None:
    try:
        from bench2robust.seams.proxy.http import HttpRelay
    except ImportError:
        raise UsageError(
            "--upstream needs an HTTP library: pip install 'bench2robust[proxy]'."
        ) from None
    conversations: Conversations = Transparent()
    if options is not None:
        _session(options, status).close()  # what is wrong is told before anybody connects
        conversations = Sessions(lambda: _session(options, status), status.warn)
    relay = HttpRelay(upstream, conversations, status.warn)
    try:
        asyncio.run(relay.serve(*address, lambda url: status.warn(f"listening on {url}")))
    finally:
        conversations.close_all()


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {shown(listen)}: give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]"), int(port)
