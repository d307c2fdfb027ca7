from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import bench2robust
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.envs import RetailEnv

RETAIL = "Bench2Robust-Retail"
OPTIONS: dict[str, dict[str, Any]] = {
    RETAIL: {
        "split": "test",
        "scenario": {"S1": 1, "S2": 1},
        "alternatives": True,
        "faults": {"base": "paper", "budget": 3},
        "reward": "partial_credit",
        "max_steps": 7,
        "render_mode": "ansi",
    },
    "Bench2Robust-RetailRecovery": {"scenario": "S3", "faults": "realistic", "side": "random"},
    "Bench2Robust-Airline": {"scenario": {"S1": 1, "S2": 1}, "alternatives": True, "max_steps": 40},
    "Bench2Robust-Telecom": {"scenario": {"S1": 1, "S3": 1}, "alternatives": True, "split": "test"},
    "Bench2Robust-Tau2Retail": {"reward": "partial_credit", "monitor": "auto"},
    "Bench2Robust-BFCL": {"scenario": {"S2": 1, "S3": 1}, "alternatives": True, "data": "base"},
}


def _make(name: str, options: dict[str, Any]) -> gym.Env[Any, Any]:
    """Make an environment, where the package that runs its domain is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of foreign packages as they are imported
        try:
            return gym.make(name, **options)
        except DataError as error:
            if "needs the package" in str(error):
                pytest.skip(str(error))
            raise


@pytest.mark.parametrize("name", bench2robust.ENV_IDS)
@pytest.mark.parametrize("options", [False, True])
def test_checker_has_nothing_to_say(name: str, options: bool) -> None:
    env = _make(name, OPTIONS.get(name, {}) if options else {})
    env = _make(name, OPTIONS[name] if options else {})
    check_env(env.unwrapped)  # any warning is an error in this suite


@pytest.mark.parametrize("name", bench2robust.ENV_IDS)
@pytest.mark.parametrize("way", ["spec", "pickle", "json"])
def test_spec_rebuilds_the_environment(name: str, way: str) -> None:
    env = _make(name, OPTIONS.get(name, {}))
    env = _make(name, OPTIONS[name])
    assert env.spec is not None
    spec = env.spec
    if way == "pickle":
        spec = pickle.loads(pickle.dumps(spec))
    elif way == "json":
        spec = EnvSpec.from_json(spec.to_json())
    twin = gym.make(spec)
    assert twin.spec == env.spec
    first, again = env.reset(seed=5), twin.reset(seed=5)
    assert str(first) == str(again)


def test_module_prefix_registers_in_a_fresh_process() -> None:
    code = (
        "import gymnasium as gym, json, sys\n"
        f"env = gym.make('bench2robust:{RETAIL}')\n"
        "print(json.dumps(env.reset(seed=0)[0]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["turn"] == 0


def test_registering_again_is_silent() -> None:
    bench2robust.register_envs()


def test_metadata_tell_version_and_suite() -> None:
    env = gym.make(RETAIL)
    raw = env.unwrapped
    assert isinstance(raw, RetailEnv)
    raw.reset(seed=0)
    assert env.metadata["benchmark_version"] == "1.0"
    assert env.metadata["suite_digest"] == raw.episode.domain.digest
    assert "suite_digest" not in RetailEnv.metadata


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"senario": "S1"}, "'scenario'"),
        ({"max_episodes": 3}, "'max_steps'"),
        ({"scenario": "s1"}, "'S1'"),
        ({"scenario": "S4"}, "'S1'"),
        ({"scenario": {"S1": 0.5, "S5": 0.5}}, "'S1'"),
        ({"faults": "papper"}, "'paper'"),
        ({"faults": {"budgett": 3}}, "budget"),
        ({"split": "tests"}, "'test'"),
        ({"reward": "partial"}, "'partial_credit'"),
        ({"user": "script"}, "'scripted'"),
        ({"side": "primry"}, "'primary'"),
        ({"task_id": "plane_0001"}, "plain_0"),
        ({"render_mode": "ansii"}, "'ansi'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode.*:UserWarning")
def test_wrong_arguments_name_the_nearest_right_one(
    arguments: dict[str, object], hint: str
) -> None:
    with pytest.raises(UsageError, match="Did you mean") as caught:
        gym.make(RETAIL, **arguments)
    assert hint in str(caught.value).split("Did you mean")[1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": True}, "max_steps"),
        ({"max_steps": "25"}, "max_steps"),
        ({"alternatives": "yes"}, "alternatives"),
        ({"benchmark_version": "0.1"}, "benchmark_version '0.1' is not '1.0'"),
        ({"scenario": "S2"}, "alternatives=True"),
        ({"scenario": {"S1": 1, "S2": 1}}, "alternatives=True"),
        ({"scenario": {"S1": -1}}, "S1"),
        ({"scenario": {}}, "weight"),
        ({"data": "/no/such/folder"}, "/no/such/folder"),
        ({"task_id": [1]}, r"task_id .* not \[1\]"),
        ({"task_id": {}}, r"task_id .* not \{\}"),
        ({"task_id": 10**5000}, "task_id"),
        ({"scenario": ["S1"]}, r"scenario .* not \['S1'\]"),
        ({"scenario": {"S1": "a"}}, "S1 is 'a'"),
        ({"scenario": {"S1": None}}, "S1 is None"),
        ({"scenario": {"S1": 10**400}}, "S1 is .*; a weight is"),
        ({"scenario": {"S1": 1e308, "S2": 1e308}}, "a weight is"),
        ({"data": []}, r"data .* not \[\]"),
        ({"data": 5}, "data .* not 5"),
        ({"data": b"x"}, "data .* not b'x'"),
        ({"data": "x" * 5000}, "data folder .* cannot be read"),
        ({"faults": 5}, "fault profile .* 5.*'?none"),
        ({"faults": None}, "fault profile .* None.*none"),
        ({"faults": []}, "fault profile .* none"),
        ({"faults": b"paper"}, "fault profile .* b'paper'.* none"),
        ({"faults": "a\0.yaml"}, "(?i)fault profile .* cannot be read: .*null"),
        ({"max_steps": 2**63}, "max_steps must be a whole number from 1 to"),
        ({"max_steps": 10**5000}, "max_steps must be a whole number from 1 to"),
        ({"faults": {"tools": {"get_order": {"timeout": 0.1}}}}, "get_order"),
    ],
)
def test_bad_values_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text) as caught:
        gym.make(RETAIL, **arguments)
    assert len(str(caught.value)) < 1000


def test_recovery_refuses_what_only_the_dialogue_has() -> None:
    with pytest.raises(UnknownNameError, match="keyword argument 'reward'"):
        gym.make("Bench2Robust-RetailRecovery", reward="success")


@pytest.mark.parametrize("reward", ["much", None, True, float("nan"), float("inf"), -(10**400)])
def test_a_reward_is_a_finite_number(reward: object) -> None:
    with pytest.raises(UsageError, match="abstain_reward must be a finite number, not"):
        gym.make("Bench2Robust-RetailRecovery", abstain_reward=reward)


def test_right_version_is_accepted() -> None:
    gym.make(RETAIL, benchmark_version="1.0")
