"""The same calls under the same plan have the same ledger at every seam, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym

from bench2robust.core.types import ToolCall
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.wrap import wrap_tools
from tests.seams.four import scene


def environment() -> tuple[list[Any], list[str]]:
    """Return the ledger of the environment, and what the agent saw."""
    env = gym.make(
        "bench2robust:Bench2Robust-Retail",
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
    ledger = scene.rows(episode.injector.events)
    env.close()
    return ledger, seen


def function_of(session: Any, name: str) -> Callable[..., str]:
    """Return a tool of a session as a Python function that raises where it is refused."""

    def run(**arguments: Any) -> str:
        result = session.call(ToolCall(name, arguments))
        if result.is_error:
            raise LookupError(result.content)
        content: str = result.content
        return content

    return run


def wrapped(**options: Any) -> tuple[list[Any], list[str]]:
    """Return the ledger of wrapped functions, and what the agent saw."""
    session = scene.session()
    pairs = [(_openai(scene.entry(s)), function_of(session, s.name)) for s in scene.TOOLS]
    with wrap_tools(pairs, **options) as tools:
        by_name = {entry["function"]["name"]: tool for entry, tool in tools}
        seen = []
        for name, arguments in scene.calls():
            try:
                seen.append(by_name[name](**arguments))
            except LookupError as error:
                seen.append(str(error))
    return scene.rows(tools.seam.ledger), seen


def _openai(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {**entry, "parameters": entry["inputSchema"]}}


def options() -> dict[str, Any]:
    """Return what a seam needs to be told for the scene."""
    return {
        "faults": scene.plan(),
        "seed": scene.SEED,
        "task": scene.TASK.id,
        "blocked": scene.BLOCKED,
    }


def test_the_scene_has_every_sort_of_fault() -> None:
    ledger, _ = environment()
    planned = {row[3] for row in ledger}
    assert {"blocked", "rate_limit", "partial", "factual_error"} <= planned
    assert any(row[4] is None for row in ledger), "a fault that could not land"
    assert any(not row[5] and row[3] != "blocked" for row in ledger), "a write turned away"
    assert sum(bool(row[7]) for row in ledger) >= 2, "silent faults with their changes"
    assert len(ledger) >= 15


def test_wrapped_functions_have_the_ledger_of_the_environment() -> None:
    assert wrapped(**options()) == environment()


def test_a_record_of_one_seam_repeats_it_at_another(tmp_path: Path) -> None:
    first = wrapped(**options(), record=tmp_path / "r")
    assert wrapped(replay=tmp_path / "r") == first
    (record,) = read_episodes(tmp_path / "r")
    assert [row["tool"] for row in record["faults"]] == [row[1] for row in first[0]]
