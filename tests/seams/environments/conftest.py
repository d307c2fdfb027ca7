"""Episodes that scripted agents played, for other frameworks to play again."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from bench2robust.core.types import Scenario
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records

WORLD: dict[str, Any] = {"data": "builtin:small"}


class Played(NamedTuple):
    """One recorded episode."""

    task: str
    seed: int
    scenario: Scenario
    texts: list[str]
    reward: float


def _text(event: dict[str, Any]) -> str:
    if "call" in event:
        return json.dumps({"name": event["call"], "arguments": event["args"]})
    return str(event["say"])


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Recorded episodes of three scenarios, right ones and wrong ones."""
    folder = tmp_path_factory.mktemp("played") / "run"
    values = {
        "agents": ["scripted:retry"],
        "modes": ["inject_alt", "s3"],
        "seeds": 2,
        "tasks": "train:8",
        "out": str(folder),
        **WORLD,
    }
    config = EvalConfig.read(values)
    run(make_job(config, get_domain("retail", config.data)))
    found: dict[tuple[Any, ...], Played] = {}
    for record in read_records(folder):
        if record["status"] == "ok":
            texts = [_text(e) for e in record["events"] if "call" in e or "say" in e]
            key = (record["scenario"], record["success"], record["reward"] > 0)
            scenario: Any = record["scenario"]
            found[key] = Played(record["task"], record["seed"], scenario, texts, record["reward"])
    assert {key[0] for key in found} == {"S1", "S2", "S3"}
    assert any(key[1] for key in found) and not all(key[1] for key in found)
    return list(found.values())
