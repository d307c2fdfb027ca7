"""The memory block in the environment's system message."""

from __future__ import annotations

import pickle

import gymnasium as gym
import pytest

from bench2robust.core.errors import UsageError
from bench2robust.domains import get_domain
from bench2robust.memory import Variant, block, load

ID = "bench2robust:Bench2Robust-Retail"


@pytest.mark.parametrize("alternatives", [False, True])
@pytest.mark.parametrize("memory", ["none", "static", "full", "placebo", "retail"])
def test_the_block_follows_the_policy_in_the_system_message(
    memory: str, alternatives: bool
) -> None:
    env = gym.make(ID, memory=memory, alternatives=alternatives)
    _, info = env.reset(seed=0)
    domain = get_domain("retail")
    variant: Variant = "full" if memory == "retail" else memory  # type: ignore[assignment]
    text = block(variant, load("retail"), domain, alternatives)
    system = info["messages"][0]
    assert system == {
        "role": "system",
        "content": domain.policy + (f"\n\n{text}" if memory != "none" else ""),
    }
    assert env.spec is not None
    assert pickle.loads(pickle.dumps(env.spec)).kwargs["memory"] == memory
    env.close()


@pytest.mark.parametrize("memory", ["ful", "full+online", "full:none.json", None, 3])
def test_what_cannot_be_shown_is_refused(memory: object) -> None:
    with pytest.raises(UsageError, match="memory"):
        gym.make(ID, memory=memory)
