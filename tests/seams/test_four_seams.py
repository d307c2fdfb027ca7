"""One plan, one seed, the same calls: the same ledger in an environment and at every seam."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.injectors import load_profile
from bench2robust.injectors.events import FaultEvent
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.wrap import wrap_tools
from tests.seams import retail_server

SEED = 3
SCRIPT = str(Path(retail_server.__file__))


def task_and_calls() -> tuple[str, list[ToolCall]]:
    """Return a task with a write, and calls: its reads again and again, then its gold calls."""
    domain = get_domain("retail", "builtin:small")
    kinds = {spec.name: spec.kind for spec in domain.tools()}
    task = next(t for t in domain.tasks() if "write" in {kinds[c.name] for c in t.actions})
    reads = [call for call in task.actions if kinds[call.name] == "read"]
    writes = [call for call in task.actions if kinds[call.name] == "write"]
    return task.id, [*(reads * 12)[:20], *writes[:1]]


TASK, CALLS = task_and_calls()


def in_an_environment(faults: str, tmp_path: Path) -> Sequence[Any]:
    domain = get_domain("retail", "builtin:small")
    settings = EpisodeSettings(profile=load_profile(faults))
    episode = Episode(domain, domain.task(TASK), SEED, settings)
    for call in CALLS:
        episode.call(call)
    return [row(event) for event in episode.injector.events]


def around_functions(faults: str, tmp_path: Path) -> Sequence[Any]:
    tools = retail_server.backend(TASK)

    def runner(name: str) -> Callable[..., str]:
        return lambda **arguments: tools.call(ToolCall(name, arguments)).content

    pairs = [(spec.openai(), runner(spec.name)) for spec in tools.tools]
    wrapped = wrap_tools(pairs, faults=faults, seed=SEED, task=TASK)
    functions = {entry["function"]["name"]: function for entry, function in wrapped}
    for call in CALLS:
        functions[call.name](**call.arguments)
    return [row(event) for event in wrapped.seam.ledger]


KEPT = ("tool", "nth", "planned", "delivered", "executed", "committed", "latency", "retry_after")


def row(event: FaultEvent) -> list[Any]:
    """Return a row of the ledger: what happened, then the number of fields that it changed."""
    return [event.index, *(getattr(event, name) for name in KEPT), len(event.changes)]


def recorded(file: Path) -> Sequence[Any]:
    (record,) = read_episodes(file)
    assert record["seed"] == SEED and record["task"] == TASK and record["calls"] == len(CALLS)
    rows: list[Any] = list(record["faults"])
    return [[f["step"], *(f[name] for name in KEPT), len(f["changes"])] for f in rows]


def messages() -> list[dict[str, Any]]:
    listing = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
    calls = [{"jsonrpc": "2.0", "id": number, "method": "tools/call",
              "params": {"name": call.name, "arguments": call.arguments}}
             for number, call in enumerate(CALLS, start=1)]  # fmt: skip
    return [listing, *calls]


def over_standard_streams(faults: str, tmp_path: Path, wire: ModuleType) -> Sequence[Any]:
    options = ["--faults", faults, "--seed", str(SEED), "--task", TASK]
    record = tmp_path / "stdio.jsonl"
    server = [sys.executable, SCRIPT, TASK]
    command = wire.proxied(*options, "--record", str(record), command=server)
    with wire.Wire(command) as client:
        for message in messages():
            assert client.ask(json.dumps(message).encode() + b"\n")["id"] == message["id"]
        assert client.close() == 0
    return recorded(record)


def over_http(faults: str, tmp_path: Path, shop: ModuleType, wire: ModuleType) -> Sequence[Any]:
    import aiohttp

    record = tmp_path / "http.jsonl"
    options = ["--faults", faults, "--seed", str(SEED), "--task", TASK, "--record", str(record)]
    command = [sys.executable, "-m", "bench2robust", "proxy", *options]

    async def main() -> None:
        server = shop.Shop(retail_server.Server(retail_server.backend(TASK)))
        headers = {"Mcp-Session-Id": "s", "X-Answer": "sse", "Content-Type": "application/json"}
        async with (
            shop.serving(server) as url,
            shop.proxying(url, command, wire.environment()) as proxy,
            aiohttp.ClientSession(headers=headers) as client,
        ):
            for message in messages():
                async with client.post(proxy.url, data=json.dumps(message)) as answer:
                    assert json.dumps(message["id"]).encode() in await answer.read()

    asyncio.run(main())
    return recorded(record)


@pytest.mark.parametrize("faults", ["observable", "paper"])
def test_the_ledger_is_the_same(
    faults: str, wire: ModuleType, shop: ModuleType, tmp_path: Path
) -> None:
    stdio = over_standard_streams(faults, tmp_path, wire)
    assert len(stdio) >= 3
    assert over_http(faults, tmp_path, shop, wire) == stdio
    assert around_functions(faults, tmp_path) == stdio
    environment = in_an_environment(faults, tmp_path)
    if faults == "paper":  # which fields a silent fault changes, a domain knows and a seam guesses
        stdio, environment = ([r[:-1] for r in rows] for rows in (stdio, environment))
    assert environment == stdio
