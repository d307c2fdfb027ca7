from __future__ import annotations

from typing import Any

import pytest

skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is not installed")


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    from skyrl_gym.envs.registration import register

    register(id="bench2robust", entry_point="bench2robust.seams.environments.skyrl_env:SkyRLEnv")


def test_an_episode_earns_the_same_reward(played: list[Any]) -> None:
    for one in played:
        row = {"task": one.task, "seed": one.seed, "scenario": one.scenario}
        env = skyrl_gym.make("bench2robust", env_config={"data": "builtin:small"}, extras=row)
        prompt, facts = env.init([{"role": "user", "content": ""}])
        assert [message["role"] for message in prompt] == ["system", "user"]
        assert facts["task"] == one.task
        *before, last = [env.step(text) for text in one.texts]
        assert not any(out["done"] or out["reward"] for out in before)
        assert all(out["observations"][0]["role"] == "user" for out in before)
        assert last["done"] and last["reward"] == one.reward
        assert env.get_metrics()["steps"] == len(one.texts)
        env.close()
