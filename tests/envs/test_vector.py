from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.envs import BatchEnv, RetailEnv, RetailRecoveryEnv

ASK = "What is your name?"
READ = '{"name": "list_all_product_types", "arguments": {}}'
TRANSFER = '{"name": "transfer_to_human_agents", "arguments": {"summary": "s"}}'


def texts(count: int, round_: int) -> tuple[str, ...]:
    actions = (ASK, READ, "{", TRANSFER, READ)
    return tuple(actions[(i * 3 + round_ * 7) % len(actions)] for i in range(count))


def retail() -> RetailEnv:
    return RetailEnv(max_steps=6, scenario={"S1": 1, "S2": 1}, alternatives=True)


def recovery() -> RetailRecoveryEnv:
    return RetailRecoveryEnv(max_steps=12)


def actions_for(envs: Any, count: int, round_: int) -> Any:
    if isinstance(envs.single_action_space, gym.spaces.Discrete):
        return np.array([(i * 5 + round_) % 6 for i in range(count)])
    return texts(count, round_)


@pytest.mark.parametrize("make", [retail, recovery])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_returns_what_gymnasium_returns(make: Any, mode: AutoresetMode) -> None:
    ours = BatchEnv(make, 5, mode)
    theirs = SyncVectorEnv([make] * 5, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata
    assert data_equivalence(ours.reset(seed=3), theirs.reset(seed=3), exact=True)
    ends = 0
    for round_ in range(40):
        actions = actions_for(ours, 5, round_)
        got, expected = ours.step(actions), theirs.step(actions)
        assert data_equivalence(got, expected, exact=True), round_
        assert got[0] in ours.observation_space
        ends += int((got[2] | got[3]).sum())
    assert ends > 10


def test_disabled_autoreset_asks_for_a_mask() -> None:
    envs = BatchEnv(retail, 3, AutoresetMode.DISABLED)
    envs.reset(seed=0)
    *_, terminated, _, _ = envs.step((TRANSFER, ASK, TRANSFER))
    assert terminated.tolist() == [True, False, True]
    with pytest.raises(UsageError, match="reset_mask"):
        envs.step((ASK,) * 3)
    second = envs.envs[1].unwrapped
    assert isinstance(second, RetailEnv)
    before = second.episode
    options = {"reset_mask": terminated}
    observation, infos = envs.reset(seed=8, options=options)
    assert options == {"reset_mask": terminated}
    assert second.episode is before
    assert infos["_messages"].tolist() == [True, False, True]
    assert observation["turn"].tolist() == [0, 1, 0]
    envs.step((ASK,) * 3)


def test_next_step_ignores_the_action_of_a_finished_episode() -> None:
    envs = BatchEnv(retail, 2)
    envs.reset(seed=0)
    *_, terminated, _, infos = envs.step((TRANSFER, ASK))
    assert terminated.tolist() == [True, False]
    assert infos["_outcome"].tolist() == [True, False]
    assert infos["outcome"]["success"].dtype == np.bool_
    observation, rewards, terminated, _, infos = envs.step((TRANSFER, ASK))
    assert not terminated.any()
    assert rewards.tolist() == [0.0, 0.0]
    assert observation["turn"].tolist() == [0, 2]
    assert "outcome" not in infos


@pytest.mark.parametrize("name", ["Bench2Robust-Retail", "Bench2Robust-RetailRecovery"])
def test_256_episodes_at_once(name: str) -> None:
    envs = gym.make_vec(name, num_envs=256, scenario="S1")
    assert isinstance(envs, BatchEnv)
    observation, infos = envs.reset(seed=0)
    assert observation in envs.observation_space
    for round_ in range(3):
        observation, rewards, *_ = envs.step(actions_for(envs, 256, round_))
        assert observation in envs.observation_space
        assert rewards.shape == (256,)
    assert len(infos[next(iter(infos))]) == 256
    envs.close()


def test_seeds_are_those_of_single_environments() -> None:
    envs = BatchEnv(retail, 3)
    observation, _ = envs.reset(seed=[5, None, 7])
    env = retail()
    for index, seed in [(0, 5), (2, 7)]:
        assert env.reset(seed=seed)[0]["text"] == observation["text"][index]
    with pytest.raises(UsageError, match="2 seeds"):
        envs.reset(seed=[1, 2])
    with pytest.raises(UsageError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})


@pytest.mark.parametrize("seed", [np.int64(3), 1.5, "ab", [1.5, 2, 3], {}, np.array([1, 2, 3])])
def test_seeds_of_another_type_are_refused(seed: Any) -> None:
    with pytest.raises(UsageError, match=r"^(seed must be|0 seeds)"):
        BatchEnv(retail, 3).reset(seed=seed)


@pytest.mark.parametrize("actions", [(READ,), (READ,) * 3, (), "ab", 5, None])
def test_the_wrong_number_of_actions_steps_nothing(actions: Any) -> None:
    envs = BatchEnv(retail, 2)
    envs.reset(seed=0)
    with pytest.raises(UsageError, match="2 actions, one an environment"):
        envs.step(actions)
    assert [env.unwrapped.episode.steps for env in envs.envs] == [0, 0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("actions", [[0], [0, 1, 2], 5])
def test_the_wrong_number_of_moves_steps_nothing(actions: Any) -> None:
    envs, twin = BatchEnv(recovery, 2), BatchEnv(recovery, 2)
    envs.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(UsageError, match="2 actions, one an environment"):
        envs.step(actions)
    assert data_equivalence(envs.step([0, 0]), twin.step([0, 0]), exact=True)


def test_a_nested_action_does_not_break_the_batch() -> None:
    envs = BatchEnv(retail, 2)
    envs.reset(seed=0)
    deep = '{"name": "calculate", "arguments": {"expression": ' + "[" * 254 + "]" * 254 + "}}"
    observation, *_ = envs.step((READ, deep))
    assert observation["turn"].tolist() == [1, 1]


def test_a_mask_cannot_leave_out_what_never_started() -> None:
    envs = BatchEnv(retail, 3)
    mask = np.array([True, False, True])
    with pytest.raises(UsageError, match=r"never reset \(\[1\]\)"):
        envs.reset(seed=0, options={"reset_mask": mask})
    envs.reset(seed=0, options={"reset_mask": np.ones(3, dtype=bool)})
    envs.reset(seed=0, options={"reset_mask": mask})
    with pytest.raises(UsageError, match="reset_mask must"):
        envs.reset(options={"reset_mask": ["a", "b", "c"]})


def test_options_reach_every_episode() -> None:
    envs = BatchEnv(retail, 2)
    envs.reset(seed=0, options={"task_id": "plain_0003"})
    observation, _ = envs.reset(seed=1, options={"task_id": "plain_0003"})
    assert observation["text"][0] == observation["text"][1]


def test_render_gives_one_text_an_episode() -> None:
    envs = gym.make_vec("Bench2Robust-Retail", num_envs=2, render_mode="ansi")
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None
    assert [frame.split(":")[0] for frame in frames] == ["user", "user"]


def test_make_vec_takes_the_autoreset_mode_by_name() -> None:
    envs = gym.make_vec("Bench2Robust-Retail", num_envs=2, autoreset_mode="SameStep")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert gym.make_vec(envs.spec).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(UnknownNameError, match="SameStep"):
        gym.make_vec("Bench2Robust-Retail", num_envs=2, autoreset_mode="samestep")
    for number in (0, "x", 1.5, None, True):
        with pytest.raises(UsageError, match="num_envs must be a whole number"):
            gym.make_vec("Bench2Robust-Retail", num_envs=number)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="'scenario'"):
        gym.make_vec("Bench2Robust-Retail", num_envs=2, senario="S1")


def test_async_without_shared_memory_returns_the_right_texts() -> None:
    envs = AsyncVectorEnv([retail] * 2, shared_memory=False, context="spawn")
    ours = BatchEnv(retail, 2)
    try:
        assert envs.reset(seed=4)[0]["text"] == ours.reset(seed=4)[0]["text"]
        for actions in [(ASK, READ), (READ, ASK), ("{", READ)]:
            assert envs.step(actions)[0]["text"] == ours.step(actions)[0]["text"]
    finally:
        envs.close()


def test_async_with_shared_memory_refuses_instead_of_returning_stale_texts() -> None:
    with pytest.raises(ValueError, match="shared_memory=False"):
        gym.make_vec("Bench2Robust-Retail", num_envs=2, vectorization_mode="async")
