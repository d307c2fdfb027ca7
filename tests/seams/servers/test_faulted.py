"""Faults and receipts on: the official client accepts every changed result of real servers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench2robust.cli.app import app
from bench2robust.injectors.kernels.incidents import KERNELS
from bench2robust.seams.proxy.results import RECEIPT
from bench2robust.seams.replay import read_episodes

Server = Callable[[str], str]
Calls = Sequence[tuple[str, dict[str, Any]]]

ZONES = {"source_timezone": "Europe/Rome", "target_timezone": "Asia/Tokyo", "time": "12:00"}
EXPRESSIBLE = {
    "cause_stripped_http_payload",
    "error_page_as_payload",
    "context_pollution_fabrication",
}
"""Incident faults that show in a value of a result that is one text; a shorter text is a text."""


def called(play: ModuleType, command: list[str], calls: Calls, *options: str) -> list[Any]:
    """Return the results of calls through a proxy, as JSON."""
    found: list[Any] = []

    async def go(client: Any) -> None:
        await client.list_tools()
        for name, arguments in calls:
            found.append(play.plain(await client.call_tool(name, arguments)))

    play.within(play.parameters(play.proxied(command, "--quiet", *options)), go)
    return found


FAULTS = ("factual_error", "partial", "stale", "schema_drift", "malformed_response", "type_flip",
          "missing_field", "vacuous_exec_swallow", "positional_field_shift")  # fmt: skip


def test_whatever_a_fault_makes_of_a_result_its_client_accepts(
    play: ModuleType, server: Server, tmp_path: Path
) -> None:
    """A client checks structured content against the schema, and raises where it is broken."""
    record = tmp_path / "record"
    rules = [{"fault": fault, "nth": nth} for nth, fault in enumerate(FAULTS, start=1)]
    (tmp_path / "plan.yaml").write_text(json.dumps({"schedule": rules}))
    options = ("--faults", str(tmp_path / "plan.yaml"), "--record", str(record))
    landed = Counter[str]()
    for command, call in (
        ([server("mcp-server-everything")], ("get-structured-content", {"location": "Chicago"})),
        ([server("mcp-server-time")], ("convert_time", ZONES)),
        ([server("mcp-server-memory")], ("read_graph", {})),
    ):
        results = called(play, command, [call] * (len(FAULTS) + 1), *options)
        for result in results[:-1]:
            assert result["isError"] is ("structuredContent" not in result)
            if not result["isError"]:
                assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert not results[-1]["isError"]
        *_, episode = read_episodes(record)
        landed.update(row["delivered"] for row in episode["faults"] if row["delivered"])
    assert {*FAULTS} - {*landed} <= {"stale"}  # nothing here has a state that could be older


def test_faults_reach_servers_of_both_eras(
    play: ModuleType, server: Server, tmp_path: Path, folder: Path
) -> None:
    note = {"path": str(folder / "note5.txt")}
    cases: list[tuple[list[str], Calls]] = [
        ([server("mcp-server-time")], [("convert_time", ZONES)] * 20),
        ([server("mcp-server-filesystem"), str(folder)], [("read_text_file", note)] * 20),
    ]
    for command, calls in cases:
        results = called(play, command, calls, "--faults", "paper", "--seed", "4")
        again = called(play, command, calls, "--faults", "paper", "--seed", "4")
        other = called(play, command, calls, "--faults", "paper", "--seed", "5")
        assert results == again != other
        assert 0 < sum(result["isError"] for result in results) <= 5


def test_a_blocked_tool_never_answers_and_a_cap_ends_all(play: ModuleType, server: Server) -> None:
    calls = [("convert_time", ZONES), ("get_current_time", {"timezone": "UTC"})] * 3
    options = ("--block", "convert_time", "--cap", "5")
    blocked, *others, last = called(play, [server("mcp-server-time")], calls, *options)
    assert blocked["isError"] and others[1] == blocked
    assert not others[0]["isError"] and "limit of 5" in last["content"][0]["text"]


def test_an_input_that_is_required_belongs_to_one_call(play: ModuleType, tmp_path: Path) -> None:
    import sys

    record = tmp_path / "record"
    command = [sys.executable, play.MODERN, "stdio"]
    (result,) = called(play, command, [("confirm", {})], "--record", str(record))
    assert result["structuredContent"] == {"result": "sure: True"}
    (episode,) = read_episodes(record)
    assert episode["calls"] == 1


def test_a_cancelled_call_leaves_the_session_alive(play: ModuleType, server: Server) -> None:
    from mcp.shared.exceptions import MCPError

    async def go(client: Any) -> None:
        await client.list_tools()
        long = {"duration": 10, "steps": 2}
        with pytest.raises(MCPError, match="imed out"):
            await client.call_tool("trigger-long-running-operation", long, read_timeout_seconds=0.3)
        results = await asyncio.gather(
            *(client.call_tool("echo", {"message": str(n)}) for n in range(20))
        )
        assert [r.content[0].text for r in results] == [f"Echo: {n}" for n in range(20)]

    command = play.proxied([server("mcp-server-everything")], "--contract", "declared")
    play.within(play.parameters(command), go)


TOOLS = ("read_text_file", "get_file_info")


def file_calls(folder: Path, count: int) -> list[tuple[str, dict[str, Any]]]:
    return [(TOOLS[n % 2], {"path": str(folder / f"note{n // 2 % 60}.txt")}) for n in range(count)]


def test_contracts_mined_from_a_record_flag_incident_faults_and_nothing_else(
    play: ModuleType, server: Server, tmp_path: Path, folder: Path
) -> None:
    from typer.testing import CliRunner

    command = [server("mcp-server-filesystem"), str(folder)]
    record, contract = tmp_path / "record.jsonl", tmp_path / "contract.json"
    called(play, command, file_calls(folder, 100), "--record", str(record))  # 50 of each tool
    mine = ["contracts", "mine", str(record), "--profile", "strict", "--extensions", "all"]
    done = CliRunner().invoke(app, [*mine, "--out", str(contract)])
    assert done.exit_code == 0, done.output

    names = [kernel.name for kernel in KERNELS]
    rules = [{"fault": name, "nth": [*range(4 * n + 1, 4 * n + 5)]} for n, name in enumerate(names)]
    plan, faulty = tmp_path / "plan.yaml", tmp_path / "faulty.jsonl"
    plan.write_text(json.dumps({"schedule": rules}))
    options = ("--faults", str(plan), "--contract", str(contract), "--record", str(faulty))
    results = called(play, command, file_calls(folder, 8 * len(names)), *options)
    (episode,) = read_episodes(faulty)
    delivered = {row["step"]: row["delivered"] for row in episode["faults"] if row["delivered"]}
    receipts = [n for n, result in enumerate(results) if RECEIPT in result.get("_meta", {})]
    assert {*delivered.values()} >= EXPRESSIBLE
    assert Counter(delivered[n] for n in receipts) == dict.fromkeys(EXPRESSIBLE, 8)

    for note in folder.glob("*.txt"):  # what the contract never saw
        note.write_text(note.read_text().upper() * 2)
    fresh = called(play, command, file_calls(folder, 500), "--contract", str(contract))
    assert len(fresh) == 500 and not any(RECEIPT in result.get("_meta", {}) for result in fresh)
