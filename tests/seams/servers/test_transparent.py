"""Faults off: neither the official client nor third-party servers can tell that a proxy is there.

A tap on either side of the proxy keeps what passes: both must have kept the same bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Server = Callable[[str], str]
Calls = list[tuple[str, dict[str, Any]]]

EVERYTHING: Calls = [
    ("echo", {"message": "é\u2028x"}),
    ("get-structured-content", {"location": "Chicago"}),
    ("get-sum", {"a": 1, "b": 2.5}),
    ("get-tiny-image", {}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-resource-links", {"count": 2}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 3}),
]
ASKING: Calls = [
    ("trigger-sampling-request", {"prompt": "p", "maxTokens": 5}),
    ("trigger-elicitation-request", {}),
    ("get-roots-list", {}),
    ("toggle-simulated-logging", {}),
]
MODERN: Calls = [
    ("echo", {"message": "x"}),
    ("get_order", {"order_id": "#1"}),
    ("names", {}),
    ("slow", {"steps": 3}),
    ("confirm", {}),
]
UNSTABLE = re.compile(r"\d+:\d\d:\d\d [AP]M|session [0-9a-f-]{36}")
"""The everything server says when it made a resource, and in which session it logs."""


def steady(found: Any) -> Any:
    """Return results without what differs from one process to the next."""
    stable = {key: value for key, value in found.items() if key != "told"}
    return UNSTABLE.sub("", json.dumps(stable, sort_keys=True))


def through_standard_streams(
    play: ModuleType, command: list[str], calls: Calls, mode: str, folder: Path
) -> Any:
    """Follow the same course with and without a proxy; return what came back."""
    direct = asyncio.run(play.course(play.parameters(command), mode, calls))
    inner = play.teed(command, folder / "inner")
    outer = play.teed(play.proxied(inner), folder / "outer")
    relayed = asyncio.run(play.course(play.parameters(outer), mode, calls))
    assert steady(relayed) == steady(direct)
    for way in ("up", "down"):
        before, after = (folder / f"{name}.{way}" for name in ("outer", "inner"))
        assert before.read_bytes() == after.read_bytes()
        assert before.stat().st_size > 1000
    assert len(relayed["together"]) == 20
    return relayed


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_everything(mode: str, play: ModuleType, server: Server, tmp_path: Path) -> None:
    command = [server("mcp-server-everything")]
    found = through_standard_streams(play, command, EVERYTHING + ASKING, mode, tmp_path)
    assert found["version"] == "2025-11-25"
    assert found["asked"] == ["elicitation", "roots", "sampling"]
    assert found["progress"] == [1, 2, 3]
    assert {"notifications/message", "notifications/tools/list_changed"} <= {*found["told"]}
    assert "tasks" in found["can"] and found["can"]["resources"]["subscribe"] is True
    structured = found['get-structured-content {"location": "Chicago"}']
    assert structured["structuredContent"] == json.loads(structured["content"][0]["text"])
    assert found["resources"] and found["prompts"] and found["templates"]


def test_filesystem(play: ModuleType, server: Server, tmp_path: Path, folder: Path) -> None:
    note = str(folder / "note3.txt")
    calls: Calls = [
        ("read_text_file", {"path": note}),
        ("list_directory", {"path": str(folder)}),
        ("directory_tree", {"path": str(folder)}),
        ("write_file", {"path": str(folder / "note4.txt"), "content": "x"}),
        ("read_text_file", {"path": "/etc/passwd"}),
    ]
    command = [server("mcp-server-filesystem"), str(folder)]
    found = through_standard_streams(play, command, calls, "auto", tmp_path)
    assert found["version"] == "2025-11-25" and found["asked"] == ["roots"]


def test_memory(play: ModuleType, server: Server, tmp_path: Path) -> None:
    entity = {"name": "a", "entityType": "b", "observations": ["c"]}
    calls: Calls = [("search_nodes", {"query": "x"}),
                    ("create_entities", {"entities": [entity]}), ("read_graph", {}),
                    ("delete_entities", {"entityNames": ["a"]})]  # fmt: skip
    file = f"MEMORY_FILE_PATH={tmp_path / 'memory.json'}"
    command = ["env", file, server("mcp-server-memory")]
    found = through_standard_streams(play, command, calls, "auto", tmp_path)
    assert found["read_graph {}"]["structuredContent"]["entities"] == [entity]


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_time(mode: str, version: str, play: ModuleType, server: Server, tmp_path: Path) -> None:
    zones = {"source_timezone": "Europe/Rome", "target_timezone": "Asia/Tokyo", "time": "12:00"}
    calls: Calls = [("convert_time", zones), ("convert_time", {**zones, "time": "late"})]
    command = [server("mcp-server-time")]
    found = through_standard_streams(play, command, calls, mode, tmp_path)
    assert found["version"] == version


def test_git(play: ModuleType, server: Server, tmp_path: Path, repository: Path) -> None:
    where = {"repo_path": str(repository)}
    calls: Calls = [("git_status", where), ("git_log", where),
                    ("git_show", {**where, "revision": "HEAD"})]  # fmt: skip
    command = [server("mcp-server-git")]
    found = through_standard_streams(play, command, calls, "auto", tmp_path)
    assert found["version"] == "2026-07-28"


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_servers_own_kit(
    mode: str, version: str, play: ModuleType, tmp_path: Path
) -> None:
    command = [sys.executable, play.MODERN, "stdio"]
    found = through_standard_streams(play, command, MODERN, mode, tmp_path)
    assert found["version"] == version and found["asked"] == ["elicitation"]
    assert found["progress"] == [0, 1, 2]
    assert found["confirm {}"]["structuredContent"] == {"result": "sure: True"}


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[int]:
    """Run an HTTP server that is told its port, and yield the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [part.replace("PORT", str(port)) for part in command]
    process = subprocess.Popen(command, env={**environment, "PORT": str(port)})
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def over_http(
    play: ModuleType, command: list[str], calls: Calls, mode: str
) -> tuple[Any, list[str]]:
    """Follow the same course with and without a proxy; return what came back, and the requests."""
    from bench2robust.seams.proxy.http import HttpRelay
    from bench2robust.seams.proxy.sessions import Transparent
    from bench2robust.seams.proxy.upstream import Upstream

    said: list[str] = []

    async def main(port: int) -> tuple[Any, Any, list[Any], list[Any]]:
        direct = await play.course(f"http://127.0.0.1:{port}/mcp", mode, calls)
        async with play.Tap(port).listening() as inner:
            address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            upstream = Upstream.read(f"http://127.0.0.1:{inner.port}/mcp")
            relay = HttpRelay(upstream, Transparent(), said.append)
            task = asyncio.create_task(relay.serve("127.0.0.1", 0, address.set_result))
            proxy = int((await address).split(":")[2].split("/")[0])
            async with play.Tap(proxy).listening() as outer:
                url = f"http://127.0.0.1:{outer.port}/mcp"
                relayed = await play.course(url, mode, calls)
                await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.wait([task])
        return direct, relayed, outer.exchanges(), inner.exchanges()

    with running(command, dict(os.environ)) as port:
        direct, relayed, before, after = asyncio.run(main(port))
    assert steady(relayed) == steady(direct)
    assert before == after
    assert said == []
    return relayed, [exchange.method for exchange in before]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_everything_over_http(mode: str, play: ModuleType, server: Server) -> None:
    command = [server("mcp-server-everything"), "streamableHttp"]
    found, methods = over_http(play, command, EVERYTHING + ASKING, mode)
    assert found["version"] == "2025-11-25"
    assert found["asked"] == ["elicitation", "roots", "sampling"]
    assert found["progress"] == [1, 2, 3] and len(found["together"]) == 20
    assert {"POST", "GET", "DELETE"} <= {*methods}


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_servers_own_kit_over_http(mode: str, version: str, play: ModuleType) -> None:
    found, _ = over_http(play, [sys.executable, play.MODERN, "PORT"], MODERN, mode)
    assert found["version"] == version and len(found["together"]) == 20
    assert found["asked"] == ["elicitation"]
    assert found["progress"] == [0, 1, 2]
