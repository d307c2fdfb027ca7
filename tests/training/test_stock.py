from __future__ import annotations

import inspect
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.training.stock import stock_environment

pytest.importorskip("transformers", reason="TRL's schemas come from transformers")


@pytest.fixture(scope="module")
def kind() -> Any:
    return stock_environment(data="builtin:small")


def test_every_tool_is_a_method_whose_schema_is_the_tools_own(kind: Any) -> None:
    from transformers.utils import get_json_schema

    specs = {spec.name: spec.openai() for spec in kind._domain.tools(True)}
    environment = kind()
    for name, wanted in specs.items():
        found = get_json_schema(getattr(environment, name))["function"]
        assert found["name"] == name
        assert found["description"].split() == wanted["function"]["description"].split()
        properties = found["parameters"]["properties"]
        assert list(properties) == list(wanted["function"]["parameters"]["properties"])
        assert {p["type"] for p in properties.values()} <= {"string", "array", "object"}


def test_trl_sees_reset_reward_and_tools_and_nothing_else(kind: Any) -> None:
    public = {n for n, _ in inspect.getmembers(kind, inspect.isfunction) if n[0] != "_"}
    tools = {spec.name for spec in kind._domain.tools(True)}
    assert public == tools | {"reset", "respond", "get_reward"}


def test_an_episode_is_played_by_methods_and_scored(kind: Any) -> None:
    environment = kind()
    task = next(t for t in kind._domain.tasks("train") if "cancel" in t.actions[-1].name)
    opening = environment.reset(task=task.id)
    assert task.user.opening == opening
    for call in task.actions:
        getattr(environment, call.name)(**call.arguments)
    said = environment.respond(message=f"It is cancelled. You get back ${task.outputs[0]}.")
    assert "###STOP###" in said
    assert environment.get_reward() == 1.0
    assert "has ended" in environment.get_user_details(user_id="x")


def test_a_blocked_episode_and_a_held_out_task(kind: Any) -> None:
    environment = kind()
    task = kind._domain.tasks("train")[0]
    environment.reset(task=task.id, scenario="S3", seed=3)
    answer = environment.find_user_id_by_email(email="x@example.com")
    assert answer != "Error: User not found"
    assert environment.get_reward() == 0.0
    with pytest.raises(UsageError, match="is held out"):
        environment.reset(task=kind._domain.tasks("test")[0].id)
    with pytest.raises(UsageError, match="reset the environment"):
        kind().get_reward()
