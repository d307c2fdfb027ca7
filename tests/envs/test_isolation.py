"""What a caller or an agent does to one episode stays in it."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import orjson
import pytest

from bench2robust.core.errors import UsageError
from bench2robust.envs import RetailEnv, Source
from bench2robust.evaluation.build import RecordBuilder


@pytest.mark.parametrize("depth", [101, 254, 1000, 5000])
def test_a_nested_action_is_an_observation(depth: int) -> None:
    env = RetailEnv(faults="none")
    env.reset(seed=0)
    expression = "[" * depth + "]" * depth
    action = f'{{"name": "calculate", "arguments": {{"expression": {expression}}}}}'
    observation, *_, info = env.step(action)
    assert observation["source"] == Source.ERROR
    assert observation["turn"] == 1
    assert not env.episode.observed.entries
    assert [m["role"] for m in info["messages"][2:]] == ["assistant", "user"]


def test_the_deepest_call_can_be_logged() -> None:
    env = RetailEnv(faults="none")
    env.reset(seed=0)
    expression = "[" * 98 + "]" * 98
    action = f'{{"name": "calculate", "arguments": {{"expression": {expression}}}}}'
    *_, info = env.step(action)
    record = RecordBuilder(env.episode.domain).build(env.episode, "a", "s1")
    assert expression in orjson.dumps(record).decode()
    assert expression in info["messages"][2]["tool_calls"][0]["function"]["arguments"]


def test_what_is_done_to_an_info_does_not_last() -> None:
    env = RetailEnv()
    _, info = env.reset(seed=0)
    pristine = json.dumps(info)
    info["tools"][0]["function"]["parameters"]["type"] = "spoilt"
    info["tools"][1]["function"]["parameters"]["properties"].clear()
    info["tools"].append({1, 2})
    info["messages"][0]["content"] = "spoilt"
    info["messages"][1].clear()
    assert json.dumps(RetailEnv().reset(seed=0)[1]) == pristine
    assert json.dumps(env.reset(seed=0)[1]) == pristine
    assert "spoilt" not in json.dumps([s.openai() for s in env.episode.domain.tools()])


@pytest.mark.parametrize("name", ["Bench2Robust-Retail", "Bench2Robust-RetailRecovery"])
@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy, pickle.dumps])
def test_copies_are_refused_with_a_way_out(name: str, way: Callable[[Any], Any]) -> None:
    single, several = gym.make(name).unwrapped, gym.make_vec(name, num_envs=2)
    for env in (single, several):
        with pytest.raises(UsageError, match=r"gym\.make"):
            way(env)
