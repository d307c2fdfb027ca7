from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import bench2robust
from bench2robust.agents import Brief, make_agent
from bench2robust.agents.messages import Message
from bench2robust.core.types import ToolResult
from bench2robust.envs import RetailEnv, encode_action

assert bench2robust.ENV_IDS

Turns = list[tuple[Any, float, bool, bool, dict[str, Any]]]


def act(env: gym.Env[Any, Any], name: str) -> Turns:
    """Let a scripted agent act through the texts of an environment that was just reset."""
    raw = env.unwrapped
    assert isinstance(raw, RetailEnv)
    episode = raw.episode
    settings = episode.settings
    brief = Brief(
        episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
    )
    actions = make_agent(f"scripted:{name}", brief).run()
    turns: Turns = []
    back: Any = None
    while not episode.done:
        turns.append(env.step(encode_action(actions.send(back))))
        last: Message = turns[-1][4]["messages"][-1]
        result = ToolResult(last["content"], turns[-1][0]["source"] == 2)
        back = result if last["role"] == "tool" else last["content"]
    return turns


@pytest.fixture
def play() -> Callable[[gym.Env[Any, Any], str], Turns]:
    return act
