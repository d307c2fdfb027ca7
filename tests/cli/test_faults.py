"""``bench2robust faults``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.seams.proxy.results import true_result
from bench2robust.seams.seam import Seam
from tests.cli.conftest import Cli

ORDER = {"order_id": "#W11", "status": "delivered", "items": ["lamp"], "total": 54.2}
TEXT = json.dumps(ORDER)


def sections(out: str) -> dict[str, str]:
    parts = out.split("== ")[1:]
    return {part.partition(" ")[0]: part.partition("\n")[2] for part in parts}


def test_show_is_meant_where_no_command_is_named(cli: Cli) -> None:
    assert cli("faults").out == cli("faults", "show").out != ""
    assert cli("faults", "paper").out == cli("faults", "show", "paper").out
    assert "Did you mean 'paper'" in cli("faults", "papr").err


def test_show_lists_a_schedule(cli: Cli) -> None:
    plan = Path(__file__).parents[2] / "configs" / "faults" / "schedule.yaml"
    out = cli("faults", plan).out
    assert "| rate_limit | every tool | every 5, burst 2 |" in out
    assert '| stale | get_order | arguments {"order_id":"#W1"}, nth 2 |' in out
    assert "| server_error | get_order, search | window 60 and 120 |" in out
    assert "Scheduled faults" not in cli("faults", "paper").out


def test_try_shows_what_each_fault_does(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(TEXT)
    found = sections(cli("faults", "try", "paper", "--on", "result.json").out)
    assert [*found][:2] == ["timeout", "rate_limit"] and len(found) == 9
    assert found["timeout"].startswith("Error: request timed out")
    assert '-  "total": 54.2\n+  "total": ' in found["factual_error"]
    assert '+  "items": [],' in found["partial"] and "#W11" not in found["stale"].partition("@@")[0]


@pytest.mark.parametrize(
    "recorded",
    [
        {"tool": "get_order", "args": {}, "response": ORDER},
        {"content": [{"type": "text", "text": TEXT}]},
        {"content": [{"type": "text", "text": TEXT}], "structuredContent": ORDER},
    ],
)
def test_a_result_may_be_recorded_in_several_forms(cli: Cli, tmp_path: Path, recorded: Any) -> None:
    (tmp_path / "r.json").write_text(json.dumps(recorded))
    (tmp_path / "bare.json").write_text(TEXT)
    name = ("--tool", "get_order")
    assert (
        cli("faults", "try", "silent", "--on", "r.json", *name).out
        == cli("faults", "try", "silent", "--on", "bare.json", *name).out
    )


def test_a_fault_that_cannot_change_a_result_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("three lamps and a chair")
    found = sections(cli("faults", "try", "silent", "--on", "r.txt").out)
    assert "cannot change this result" in found["stale"]
    assert "-three lamps and a chair" in found["partial"]


def test_a_plan_is_tried_as_it_is_for_the_tool(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(TEXT)
    plan = {
        "tools": {"get_order": {"stale": 0.5}},
        "probabilities": {"partial": 0.5},
        "schedule": [{"fault": "timeout", "tools": ["cancel"]}, {"fault": "auth_error", "nth": 3}],
        "fields": {"get_order": {"states": {"status": ["lost", "delivered"]}}},
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    command = ("faults", "try", "plan.yaml", "--on", "r.json", "--tool")
    found = sections(cli(*command, "get_order").out)
    assert [*found] == ["auth_error", "stale"]
    assert '+  "status": "lost",' in found["stale"]
    assert [*sections(cli(*command, "other").out)] == ["auth_error", "partial"]
    assert "has no fault for other" in cli(
        "faults", "try", "none", "--on", "r.json", "--tool", "other"
    ).out  # fmt: skip


def test_a_file_that_holds_no_result_is_told(cli: Cli, tmp_path: Path) -> None:
    assert "cannot be read" in cli("faults", "try", "paper", "--on", "absent").err
    (tmp_path / "r.json").write_text('{"response": 1, "tool": 7}')
    assert "'tool' is 7" in cli("faults", "try", "paper", "--on", "r.json").err


@pytest.mark.parametrize("result", [
    {"content": [{"type": "text", "text": TEXT}], "isError": True},
    {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
    {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "extra": 1},
    {"content": [{"type": "text", "text": "no copy"}], "structuredContent": ORDER},
])  # fmt: skip
@pytest.mark.parametrize("traced", [False, True])
def test_an_mcp_result_is_tried_as_the_proxy_would_deliver_it(
    cli: Cli, tmp_path: Path, result: Any, traced: bool
) -> None:
    row = {"tool": "get", "args": {}, "response": result} if traced else result
    (tmp_path / "r.json").write_text(json.dumps(row))
    found = sections(cli("faults", "try", "silent", "--on", "r.json", "--tool", "get").out)
    assert len(found) == 3
    for fault, text in found.items():
        seam = Seam(faults={"schedule": [{"fault": fault}]})
        delivery = seam.after(seam.before(ToolCall("get", {})), true_result(result))
        assert delivery.faulted == ("cannot change this result" not in text), fault
