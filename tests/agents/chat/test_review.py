"""A model that reviews the calls of an agent, in runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.envs import watching
from bench2robust.evaluation.store import read_records
from bench2robust.monitors.contract import save_contract
from bench2robust.monitors.miner import Miner

REVIEW = "You review the tool calls"


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> str:
    retail = get_domain("retail")
    miner = Miner()
    for task in retail.tasks("train")[:40]:
        for call, result in watching.clean_calls(retail, task):
            miner.add(call.name, call.arguments, result.content, task.id)
    path = tmp_path_factory.mktemp("contracts") / "retail.json"
    save_contract(miner.finalise("paper"), path)
    return str(path)


@pytest.mark.parametrize("agent", ["chat:plan", "scripted:retry_switch"])
def test_a_model_reviews_every_call(
    fake: Any, play: Any, tmp_path: Path, contract: str, agent: str
) -> None:
    def policy(body: dict[str, Any]) -> dict[str, Any]:
        if body["messages"][0]["content"].startswith(REVIEW):
            return {"content": "APPROVE"}
        answer: dict[str, Any] = fake.plan_policy(body)
        return answer

    with fake.Server(policy=policy) as server:
        result = play(
            tmp_path / "run",
            server.url,
            agents=agent,
            monitor=[f"baseline:{contract}", f"reviewer:{contract}"],
            reviewer="chat:judge",
            modes="clean",
            tasks=3,
        )
    assert (result.total, result.broken) == (6, 0)
    records = list(read_records(result.folder))
    reviewed = [r for r in records if "reviewer" in r]
    assert len(reviewed) == 3
    for record in reviewed:
        use = record["reviewer"]
        assert use["name"] == "chat:judge"
        assert use["reviews"] == record["calls"] > 0
        assert use["sent_back"] == 0
        assert use["tokens"] > 0
        twin = next(r for r in records if r["task"] == record["task"] and r is not record)
        assert twin["events"] == record["events"]
    asked = [b for b in server.bodies if b["messages"][0]["content"].startswith(REVIEW)]
    assert len(asked) == sum(r["reviewer"]["reviews"] for r in reviewed)
    assert {b["model"] for b in asked} == {"judge"}


def test_what_a_model_sends_back_never_runs(
    fake: Any, play: Any, tmp_path: Path, contract: str
) -> None:
    with fake.Server(policy=lambda body: {"content": "Leave the order alone."}) as server:
        result = play(
            tmp_path / "run",
            server.url,
            agents="scripted:naive",
            monitor=f"reviewer:{contract}",
            reviewer="chat:judge",
            modes="clean",
            tasks=2,
        )
    for record in read_records(result.folder):
        assert record["reviewer"]["sent_back"] == record["reviewer"]["reviews"] > 0
