"""A table of the paper with models in it: only the agents of its configuration change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bench2robust.cli import main

CONFIG = Path(__file__).parents[3] / "configs" / "eval" / "table1.yaml"


def test_table_1_with_models(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model ``trained`` plays the plan, and ``base`` hands over at once."""

    def policy(body: Any) -> dict[str, Any]:
        if body["model"] == "trained":
            answer: dict[str, Any] = fake.plan_policy(body)
            return answer
        return {"tool_calls": [fake.call("transfer_to_human_agents", '{"summary": "no"}')]}

    agents = ("--agent", "chat:base", "--agent", "chat:trained")
    small = ("--tasks", "4", "--seeds", "1", "--concurrency", "8", "--out", str(tmp_path / "run"))
    with fake.Server(policy=policy) as server:
        command = ("eval", "--config", str(CONFIG), *agents, "--base-url", server.url, *small,
                   "--set", "trained_with_memory=chat:trained")  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["bench2robust", *command])
        with pytest.raises(SystemExit) as ended:
            main()
    out, errors = capsys.readouterr()
    assert ended.value.code in (0, None), errors
    rows = [line.strip("| ").split(" | ") for line in out.splitlines() if line.startswith("| chat")]
    assert [row[:4] for row in rows] == [
        ["chat:base", "✗", "✗", "0.0"],
        ["chat:base", "✗", "✓", "0.0"],
        ["chat:trained", "✓", "✗", "100.0"],
        ["chat:trained", "✓", "✓", "100.0"],
    ]
    blocks = {m["content"] for body in server.bodies for m in body["messages"][:1]}
    assert any("P(episode recovery | error)" in text for text in blocks)
