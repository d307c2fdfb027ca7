"""One plan, one seed, the same calls: the same ledger in an environment and at every seam.

Compared is everything: each row with what it changed, field by field, and what the agent saw.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from bench2robust.core.paths import show
from bench2robust.core.types import ToolCall
from bench2robust.injectors.events import FaultEvent
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.wrap import wrap_tools
from tests.seams import retail_server, scene

SERVER = [sys.executable, "-m", retail_server.__name__]
KEPT = ("tool", "nth", "planned", "delivered", "executed", "committed", "latency", "retry_after")


class Told(NamedTuple):
    """The ledger, and what the agent saw of each call."""

    ledger: list[Any]
    seen: list[str]


def row(event: FaultEvent) -> list[Any]:
    changes = [[show(c.path), c.before, c.after] for c in event.changes]
    return [event.index, *(getattr(event, name) for name in KEPT), changes]


@cache
def in_an_environment() -> Told:
    env = gym.make(
        "bench2robust:Bench2Robust-Retail",
        data=scene.DATA,
        task_id=scene.TASK.id,
        scenario="S2",
        side="primary",
        alternatives=True,
        faults=scene.plan(),
        max_steps=200,
    )
    env.reset(seed=scene.SEED)
    seen = []
    for name, arguments in scene.calls():
        observation, *_ = env.step(json.dumps({"name": name, "arguments": arguments}))
        seen.append(observation["text"])
    episode = env.unwrapped.episode  # type: ignore[attr-defined]
    assert episode.injector.blocked == scene.BLOCKED
    env.close()
    return Told([row(event) for event in episode.injector.events], seen)


def options() -> dict[str, Any]:
    """Return what a seam needs to be told for the scene."""
    return {
        "faults": scene.plan(),
        "seed": scene.SEED,
        "task": scene.TASK.id,
        "blocked": scene.BLOCKED,
    }


def function_of(session: Any, name: str) -> Callable[..., str]:
    """Return a tool of a session as a Python function that raises where it is refused."""

    def run(**arguments: Any) -> str:
        result = session.call(ToolCall(name, arguments))
        if result.is_error:
            raise LookupError(result.content)
        content: str = result.content
        return content

    return run


def openai(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {**entry, "parameters": entry["inputSchema"]}}


def around_functions(**given: Any) -> Told:
    session = scene.session()
    pairs = [(openai(scene.entry(s)), function_of(session, s.name)) for s in scene.TOOLS]
    with wrap_tools(pairs, **given) as tools:
        by_name = {entry["function"]["name"]: tool for entry, tool in tools}
        seen = []
        for name, arguments in scene.calls():
            try:
                seen.append(by_name[name](**arguments))
            except LookupError as error:
                seen.append(str(error))
    return Told([row(event) for event in tools.seam.ledger], seen)


def recorded(file: Path) -> Told:
    (record,) = read_episodes(file)
    assert record["seed"] == scene.SEED and record["task"] == scene.TASK.id
    rows: list[Any] = list(record["faults"])
    ledger = [[f["step"], *(f[name] for name in KEPT), f["changes"]] for f in rows]
    return Told(ledger, [event["content"] for event in record["events"]])


def messages() -> Iterator[dict[str, Any]]:
    yield {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
    for number, call in enumerate(scene.calls(), start=1):
        params = {"name": call.name, "arguments": call.arguments}
        yield {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def proxy_options(folder: Path, record: Path) -> list[str]:
    plan = folder / "plan.yaml"
    plan.write_text(json.dumps(scene.plan()))  # JSON is YAML
    blocked = [part for name in scene.BLOCKED for part in ("--block", name)]
    key = ["--seed", str(scene.SEED), "--task", scene.TASK.id]
    return ["--faults", str(plan), *key, *blocked, "--record", str(record)]


def over_standard_streams(folder: Path, wire: ModuleType) -> Told:
    record = folder / "stdio.jsonl"
    command = wire.proxied(*proxy_options(folder, record), command=SERVER)
    with wire.Wire(command) as client:
        for message in messages():
            assert client.ask(json.dumps(message).encode() + b"\n")["id"] == message["id"]
        assert client.close() == 0
    return recorded(record)


def over_http(folder: Path, shop: ModuleType, wire: ModuleType) -> Told:
    import aiohttp

    record = folder / "http.jsonl"
    command = [sys.executable, "-m", "bench2robust", "proxy", *proxy_options(folder, record)]

    async def main() -> None:
        server = shop.Shop(retail_server.Server())
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


def test_the_scene_has_every_sort_of_fault() -> None:
    faults = [dict(zip(("index", *KEPT, "changes"), r, strict=True))
              for r in in_an_environment().ledger]  # fmt: skip
    planned = {fault["planned"] for fault in faults}
    assert {"blocked", "rate_limit", "partial"} <= planned
    assert any(fault["delivered"] is None for fault in faults), "one that could not land"
    assert any(not f["executed"] and f["planned"] != "blocked" for f in faults), "turned away"
    assert sum(bool(fault["changes"]) for fault in faults) >= 2, "silent ones"
    assert len(faults) >= 15


def test_wrapped_functions_have_the_ledger_of_the_environment() -> None:
    assert around_functions(**options()) == in_an_environment()


def test_a_proxy_over_standard_streams_has_it(wire: ModuleType, tmp_path: Path) -> None:
    assert over_standard_streams(tmp_path, wire) == in_an_environment()


def test_a_proxy_over_http_has_it(wire: ModuleType, shop: ModuleType, tmp_path: Path) -> None:
    assert over_http(tmp_path, shop, wire) == in_an_environment()


def test_a_record_of_one_seam_repeats_it_at_another(tmp_path: Path) -> None:
    first = around_functions(**options(), record=tmp_path / "r")
    assert around_functions(replay=tmp_path / "r") == first
    assert recorded(tmp_path / "r").ledger == first.ledger


@pytest.mark.parametrize("change", [{"seed": 12}, {"task": "another"}, {"blocked": ()}])
def test_another_key_has_another_ledger(change: dict[str, Any]) -> None:
    assert around_functions(**{**options(), **change}).ledger != in_an_environment().ledger
