from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench2robust.agents import Move
from bench2robust.envs import RetailRecoveryEnv
from bench2robust.training.config import TrainSettings

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import DummyVecEnv

from bench2robust.training.ppo.run import run, train_policy
from bench2robust.training.ppo.vector import RecoveryVecEnv


def settings(**ppo: Any) -> TrainSettings:
    small = {"steps": 256, "environments": 4, "horizon": 32, "batch": 64, "epochs": 2}
    values: dict[str, Any] = {
        "method": "ppo",
        "episodes": {"validation": 0, "side": "primary"},
        "curriculum": "fixed_mix",
        "reward": {"abstention": True},
        "ppo": {**small, "evaluation": 10, **ppo},
    }
    return TrainSettings.read(values)


def test_side_by_side_is_as_one_by_one() -> None:
    ours = RecoveryVecEnv([RetailRecoveryEnv() for _ in range(3)])
    theirs = DummyVecEnv([RetailRecoveryEnv for _ in range(3)])
    ours.seed(5)
    theirs.seed(5)
    assert np.array_equal(ours.reset(), theirs.reset())
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(120):
        actions = rng.integers(len(Move), size=3)
        observations, rewards, dones, infos = ours.step(actions)
        expected = theirs.step(actions)
        assert np.array_equal(observations, expected[0])
        assert np.array_equal(rewards, expected[1])
        assert np.array_equal(dones, expected[2])
        for done, info, reward in zip(dones, infos, rewards, strict=True):
            ended += done
            assert ("episode" in info) == done
            if done:
                assert info["episode"]["r"] == reward
                assert info["episode"]["l"] >= 1
    assert ended > 10
    ours.close()


def test_the_vector_environment_answers_what_is_asked_of_one() -> None:
    env = RecoveryVecEnv([RetailRecoveryEnv() for _ in range(2)])
    assert env.env_is_wrapped(RetailRecoveryEnv) == [False, False]
    assert env.get_attr("render_mode") == [None, None]
    env.set_attr("render_mode", "x", indices=1)
    assert env.get_attr("render_mode") == [None, "x"]
    assert len(env.env_method("reset", seed=1)) == 2


def test_the_same_seed_learns_the_same_policy() -> None:
    first, again = train_policy(settings()), train_policy(settings())
    assert all((first[name] == again[name]).all() for name in first)
    other = train_policy(settings().model_copy(update={"seed": 1}))
    assert any((first[name] != other[name]).any() for name in first)


def test_a_finished_run_is_compared_again_and_not_trained_again(tmp_path: Any) -> None:
    here = settings().model_copy(update={"out": str(tmp_path / "run")})
    (table,) = run(here)
    before = (tmp_path / "run" / "policy.npz").stat().st_mtime_ns
    (again,) = run(here)
    assert again == table
    assert (tmp_path / "run" / "policy.npz").stat().st_mtime_ns == before
    assert {row[0] for row in table.rows} >= {"ppo", "oracle", "retry_switch", "cautious"}


@pytest.mark.slow
def test_ppo_learns_to_recover() -> None:
    """A tenth of the shipped training already beats every strategy but the cautious one."""
    from bench2robust.domains import get_domain
    from bench2robust.envs.lottery import Lottery
    from bench2robust.envs.recovery import FULL_REPERTOIRE
    from bench2robust.envs.setup import episode_settings
    from bench2robust.training.ppo.contest import contest, fixed_contenders
    from bench2robust.training.ppo.network import network_strategy

    shipped = {"steps": 80_000, "environments": 64, "horizon": 64, "batch": 1024, "epochs": 10}
    learned = network_strategy(train_policy(settings(**shipped)), 25)
    retail = get_domain("retail", None)
    around = episode_settings(retail, "paper", True, "primary", 25)
    lottery = Lottery(retail, "test", None, FULL_REPERTOIRE, around)
    contenders = {"ppo": lambda episode: learned, **fixed_contenders()}
    results = contest(lottery, range(10**6, 10**6 + 400), contenders, 1.0)
    others = [r.mean for name, r in results.items() if name not in ("ppo", "cautious")]
    assert results["ppo"].mean > max(others) + 0.02
