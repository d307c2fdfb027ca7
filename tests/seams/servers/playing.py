"""What the official client does with a server, and what it gets."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from tapping import Tap

import bench2robust

__all__ = ["Tap"]
ROOT = Path(bench2robust.__file__).parents[1]
TEE = str(Path(__file__).with_name("tee.py"))
MODERN = str(Path(__file__).with_name("modern_server.py"))


def proxied(command: Sequence[str], *options: str) -> list[str]:
    """Return the command of a proxy before a server."""
    return [sys.executable, "-m", "bench2robust", "proxy", *options, "--", *command]


def teed(command: Sequence[str], name: Path) -> list[str]:
    """Return the command of a tee before a command."""
    return [sys.executable, TEE, str(name), *command]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def parameters(command: Sequence[str]) -> StdioServerParameters:
    """Return what the client needs to start a command."""
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=environment())


class Heard:
    """What a client was asked and told by its server, beside the answers to its own requests."""

    def __init__(self) -> None:
        self.asked: set[str] = set()  # how often depends on timers of the server
        self.told: set[str] = set()

    async def sample(self, context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.add("sampling")
        said = types.TextContent(type="text", text="hi")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.add("elicitation")
        return types.ElicitResult(action="accept", content={"name": "x", "sure": True})

    async def roots(self, context: Any) -> types.ListRootsResult:
        self.asked.add("roots")
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp")])

    async def tell(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method is not None:
            self.told.add(method)


def open_client(server: Any, heard: Heard, mode: str = "auto") -> Client:
    """Return a client with every capability."""
    return Client(
        server,
        mode=mode,
        sampling_callback=heard.sample,
        elicitation_callback=heard.elicit,
        list_roots_callback=heard.roots,
        logging_callback=lambda params: heard.tell(params),
        message_handler=heard.tell,
        read_timeout_seconds=20,
    )


def plain(result: Any) -> Any:
    """Return a result as JSON."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


async def failing(what: Awaitable[Any]) -> int:
    """Return the code of the error that a request must end with."""
    try:
        await what
    except MCPError as error:
        return error.error.code
    raise AssertionError("no error came")


async def course(server: Any, mode: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> Any:
    """Use every feature that a server has; return what came back."""
    heard = Heard()
    found: dict[str, Any] = {}
    steps: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with open_client(server, heard, mode) as client:
        found["version"] = client.protocol_version
        found["server"] = plain(client.server_info)
        found["can"] = plain(client.server_capabilities)
        tools = await client.list_tools()
        found["tools"] = plain(tools)
        for name, arguments in calls:
            result = await client.call_tool(name, arguments, progress_callback=progress)
            found[f"{name} {json.dumps(arguments)}"] = plain(result)
        found["progress"] = steps
        can = client.server_capabilities
        if can.resources is not None:
            listed = await client.list_resources()
            found["resources"] = plain(listed)
            found["templates"] = plain(await client.list_resource_templates())
            for resource in listed.resources[:2]:
                found[f"read {resource.uri}"] = plain(await client.read_resource(resource.uri))
        if can.prompts is not None:
            prompts = await client.list_prompts()
            found["prompts"] = plain(prompts)
            for prompt in prompts.prompts[:2]:
                given = {a.name: "x" for a in prompt.arguments or ()}
                found[f"get {prompt.name}"] = plain(await client.get_prompt(prompt.name, given))
        if mode == "legacy":
            with warnings.catch_warnings(action="ignore", category=MCPDeprecationWarning):
                found["ping"] = plain(await client.send_ping())
        found["no such tool"] = await outcome(client.call_tool("no-such-tool", {}))
        first = calls[0]
        together = await asyncio.gather(*(client.call_tool(*first) for _ in range(20)))
        found["together"] = [plain(result) for result in together]
    found["asked"], found["told"] = sorted(heard.asked), sorted(heard.told)
    return found


async def outcome(what: Awaitable[Any]) -> Any:
    """Return a result, or the error in its place."""
    try:
        return plain(await what)
    except MCPError as error:
        return error.error.code


Go = Callable[[Client], Awaitable[None]]


def within(server: Any, go: Go, mode: str = "auto") -> Heard:
    """Run something with a connected client; return what it heard."""
    heard = Heard()

    async def main() -> None:
        async with open_client(server, heard, mode) as client:
            await go(client)

    asyncio.run(main())
    return heard
