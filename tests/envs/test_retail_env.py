from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from bench2robust.agents import Brief, Say, make_agent
from bench2robust.agents.actions import encode_action
from bench2robust.agents.strategies import STRATEGIES
from bench2robust.core.errors import InfrastructureError, UnknownNameError, UsageError
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.reward import partial_credit
from bench2robust.core.types import Scenario, ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, NotApplicableError, RetailEnv, Source
from bench2robust.injectors.scenarios import plan_scenario

Play = Callable[[Any, str], list[Any]]

ASK = "What is your name?"
READ = encode_action(ToolCall("list_all_product_types", {}))
TRANSFER = encode_action(ToolCall("transfer_to_human_agents", {"summary": "stuck"}))


def batch(*calls: ToolCall) -> str:
    entries = [{"function": {"name": c.name, "arguments": c.arguments}} for c in calls]
    return json.dumps({"role": "assistant", "content": None, "tool_calls": entries})


def transcript(seed: int) -> str:
    """Return everything that an agent sees in a faulty episode, as JSON."""
    env = RetailEnv(alternatives=True, scenario={"S1": 1, "S2": 1, "S3": 1})
    seen: list[Any] = [env.reset(seed=seed)]
    for action in [ASK, READ, READ, "{", READ, TRANSFER]:
        if not env.episode.done:
            seen.append(env.step(action))
    return json.dumps(seen, sort_keys=True)


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_agent_fares_as_without_the_environment(name: str, play: Play) -> None:
    env = RetailEnv(scenario={"S1": 1, "S2": 1, "S3": 1}, alternatives=True, split="test")
    for seed in range(12):
        env.reset(seed=seed)
        turns = play(env, name)
        twin = direct(env.episode, name)
        assert twin.observed.entries == env.episode.observed.entries
        assert twin.injector.events == env.episode.injector.events
        _, reward, terminated, truncated, info = turns[-1]
        assert info["outcome"] == twin.outcome()._asdict()
        assert reward == float(twin.outcome().success)
        assert (terminated, truncated) == (twin.ended != "step_limit", twin.ended == "step_limit")
        assert info["episode"]["ended"] == twin.ended
        assert all(turn[1:4] == (0.0, False, False) for turn in turns[:-1])


def direct(model: Episode, name: str) -> Episode:
    """Play the same episode again with no environment in between."""
    settings = model.settings
    episode = Episode(model.domain, model.task, model.seed, settings)
    brief = Brief(
        episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
    )
    actions = make_agent(f"scripted:{name}", brief).run()
    action = next(actions)
    while True:
        back = episode.say(action.text) if isinstance(action, Say) else episode.call(action)
        if episode.check_limit():
            return episode
        action = actions.send(back)


def test_partial_credit_is_equation_two(play: Play) -> None:
    env = RetailEnv(reward="partial_credit", faults="none")
    rewards = set()
    for seed in range(10):
        env.reset(seed=seed)
        reward = play(env, "retry")[-1][1]
        calls = [entry.call for entry in env.episode.observed.entries]
        assert reward == partial_credit(env.episode.outcome(), env.episode.steps, calls)
        rewards.add(reward)
    env.reset(seed=0)
    assert env.step(TRANSFER)[1] < max(rewards)


def test_observations_tell_source_and_turn() -> None:
    env = RetailEnv(faults="none")
    observation, _ = env.reset(seed=0)
    assert observation == {"text": env.episode.opening, "source": Source.USER, "turn": 0}
    for turn, (action, source) in enumerate(
        [
            (ASK, Source.USER),
            (READ, Source.TOOL),
            ('{"name": "x"}', Source.ERROR),
            (encode_action(ToolCall("no_such_tool", {})), Source.ERROR),
            (TRANSFER, Source.TOOL),
        ],
        1,
    ):
        observation, *_ = env.step(action)
        assert (observation["source"], observation["turn"]) == (source, turn)
        assert observation in env.observation_space


def test_messages_follow_the_openai_chat_format() -> None:
    env = RetailEnv(faults="none")
    _, first = env.reset(seed=0)
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    assert first["messages"][0]["content"] == env.episode.domain.policy
    assert [t["function"]["name"] for t in first["tools"]] == [
        t.name for t in env.episode.domain.tools()
    ]
    observation, *_, info = env.step(batch(*[ToolCall("list_all_product_types", {})] * 2))
    asked, one, two = info["messages"][2:]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert len(set(ids)) == 2
    assert [one["tool_call_id"], two["tool_call_id"]] == ids
    assert {one["role"], two["role"]} == {"tool"}
    assert f"{one['content']}\n{two['content']}" == observation["text"]
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == {}
    *_, info = env.step(ASK)
    *_, info = env.step("{")
    assert [m["role"] for m in info["messages"][5:]] == ["assistant", "user"] * 2
    json.dumps(info)
    assert len(first["messages"]) == 2, "an info that was returned stays as it was"


def test_every_call_of_a_message_costs_a_step() -> None:
    env = RetailEnv(faults="none", max_steps=3)
    env.reset(seed=0)
    observation, _, _, truncated, info = env.step(
        batch(*[ToolCall("list_all_product_types", {})] * 5)
    )
    assert observation["turn"] == env.episode.steps == 3
    assert truncated
    assert len(env.episode.observed.entries) == 3
    contents = [m["content"] for m in info["messages"] if m["role"] == "tool"]
    assert [c.startswith("Error: not executed") for c in contents] == [False] * 3 + [True] * 2


def test_calls_after_a_transfer_are_not_executed() -> None:
    env = RetailEnv(faults="none")
    env.reset(seed=0)
    transfer = ToolCall("transfer_to_human_agents", {"summary": "s"})
    *_, terminated, truncated, info = env.step(batch(transfer, transfer))
    assert terminated
    assert not truncated
    assert len(env.episode.executed.entries) == 1
    assert info["episode"]["ended"] == "transfer"


def test_malformed_actions_use_up_the_steps() -> None:
    env = RetailEnv(max_steps=4)
    env.reset(seed=0)
    ends = [env.step("{")[2:4] for _ in range(4)]
    assert ends == [(False, False)] * 3 + [(False, True)]


def test_nothing_can_be_done_before_the_start_or_after_the_end() -> None:
    env = RetailEnv(max_steps=1)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(ASK)
    env.reset(seed=0)
    env.step(ASK)
    for action in [ASK, READ, "{"]:
        with pytest.raises(UsageError, match="ended"):
            env.step(action)
    with pytest.raises(UsageError, match="encode_action"):
        env.step({"name": "x"})  # type: ignore[arg-type]


def test_infrastructure_errors_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    env = RetailEnv()
    env.reset(seed=0)

    def down(said: str) -> str:
        raise InfrastructureError("the user is gone")

    monkeypatch.setattr(env.episode, "user", type("Gone", (), {"reply": staticmethod(down)})())
    with pytest.raises(InfrastructureError):
        env.step(ASK)


def test_a_seed_is_an_episode() -> None:
    assert transcript(3) == transcript(3)
    assert len({transcript(seed) for seed in range(8)}) == 8


@pytest.mark.parametrize("hash_seed", ["0", "17"])
def test_a_seed_is_the_same_episode_in_another_process(hash_seed: str) -> None:
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('t', {__file__!r})\n"
        "t = importlib.util.module_from_spec(spec); spec.loader.exec_module(t)\n"
        "print(t.summary())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == summary()


def summary() -> str:
    return blake2b("".join(map(transcript, range(5))).encode()).hexdigest()


def test_the_generator_of_the_environment_draws_what_no_seed_fixes() -> None:
    one, two = RetailEnv(), RetailEnv()
    for env in (one, two):
        env.reset(seed=9)
    following = [(e.episode.task.id, e.episode.seed) for e in (one, two) for _ in [e.reset()]]
    assert following[0] == following[1]
    one.reset()
    assert (one.episode.task.id, one.episode.seed) != following[0]
    two.np_random = np.random.default_rng(1)
    two.reset()
    assert two.episode.seed == int(np.random.default_rng(1).integers(1 << 31))


def test_the_seed_is_the_seed_of_the_faults() -> None:
    env = RetailEnv(task_id="plain_0003")
    env.reset(seed=41)
    assert env.episode.seed == 41
    first = [env.step(READ)[0]["text"] for _ in range(8)]
    env.reset(seed=5, options={"fault_seed": 41})
    assert [env.step(READ)[0]["text"] for _ in range(8)] == first
    env.reset(seed=5)
    assert [env.step(READ)[0]["text"] for _ in range(8)] != first


def test_options_choose_one_episode_only() -> None:
    env = RetailEnv(split="train", alternatives=True)
    env.reset(seed=0, options={"task_id": "plain_0003", "scenario": "S3", "fault_seed": 7})
    assert env.episode.task.id == "plain_0003"
    assert env.episode.settings.scenario == "S3"
    assert env.episode.seed == 7
    env.reset(seed=0)
    assert env.episode.settings.scenario is None


@pytest.mark.parametrize(
    "options",
    [
        {"task": "plain_0003"},
        {"task_id": "no"},
        {"task_id": [1]},
        {"task_id": None},
        {"scenario": "S9"},
        {"scenario": [1]},
        {"scenario": {"S1": "a"}},
        {"fault_seed": "3"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    env = RetailEnv()
    field = next(iter(options)).replace("_seed", "").split("_")[0]
    with pytest.raises(UsageError, match=rf"(?i){field}"):
        env.reset(seed=0, options=options)


@pytest.mark.parametrize("options", [5, [1], "task_id", True])
@pytest.mark.parametrize("name", ["Bench2Robust-Retail", "Bench2Robust-RetailRecovery"])
def test_options_must_be_a_dictionary(options: Any, name: str) -> None:
    for env in (gym.make(name).unwrapped, gym.make_vec(name, num_envs=2)):
        with pytest.raises(UsageError, match="options must be a dictionary"):
            env.reset(seed=0, options=options)


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'scenario'"):
        RetailEnv().reset(options={"scenarios": "S1"})


@pytest.mark.parametrize("split", ["train", "test"])
def test_tasks_come_from_the_split(split: str) -> None:
    env = RetailEnv(split=split)
    seen = set()
    for seed in range(30):
        env.reset(seed=seed)
        assert env.episode.task.split == split
        seen.add(env.episode.task.id)
    assert len(seen) > 20


def test_a_mix_of_scenarios_holds() -> None:
    env = RetailEnv(scenario={"S1": 1, "S2": 3}, alternatives=True)
    drawn = []
    for seed in range(200):
        env.reset(seed=seed)
        drawn.append(env.episode.settings.scenario)
    assert set(drawn) == {"S1", "S2"}
    assert 125 <= drawn.count("S2") <= 175


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[set[str]], None]:
    """Make S3 apply to the given tasks only."""

    def restrict(ids: set[str]) -> None:
        def plan(scenario: Scenario, analysis: Any, seed: int, task_id: str, **more: Any) -> Any:
            refused = scenario == "S3" and task_id not in ids
            return None if refused else plan_scenario(scenario, analysis, seed, task_id, **more)

        monkeypatch.setattr("bench2robust.envs.episode.plan_scenario", plan)

    return restrict


@pytest.mark.parametrize("draws", [32, 0])
def test_tasks_are_redrawn_until_the_scenario_applies(
    draws: int, only: Callable[[set[str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench2robust.envs.lottery._DRAWS", draws)
    third = {task.id for task in get_domain("retail").tasks("train")[::3]}
    only(third)
    env = RetailEnv(scenario="S3")
    drawn = set()
    for seed in range(12):
        env.reset(seed=seed)
        drawn.add(env.episode.task.id)
    assert drawn <= third
    assert len(drawn) > 8


def test_a_scenario_that_applies_nowhere_is_refused(only: Callable[[set[str]], None]) -> None:
    only(set())
    env = RetailEnv(scenario="S3", task_id="plain_0003")
    with pytest.raises(NotApplicableError, match="plain_0003"):
        env.reset(seed=0)
    for seed in range(10):
        env.reset(seed=seed, options={"scenario": {"S1": 1, "S3": 5}})
        assert env.episode.settings.scenario == "S1"


def random_action(number: int) -> str:
    names = [spec.name for spec in get_domain("retail").tools(alternatives=True)]
    odd = (None, True, 10**18, -0.0, "", "#W0000000", ["x"], {"a": []}, "🙂", "\u0000", "9" * 5000)
    keys = ("order_id", "item_ids", "user_id", "product_id", "expression", "summary", "zip")
    call = ToolCall(
        choose(names, "name", number),
        {
            choose(keys, "key", number, i): choose(odd, "value", number, i)
            for i in range(int(uniform("arguments", number) * 4))
        },
    )
    words = (ASK, "", "\ud800", "{", '{"name": 3}', '{"name": "\ud800", "arguments": {}}')
    return choose(words, "w", number) if uniform("kind", number) < 0.3 else encode_action(call)


def test_any_action_leads_to_a_valid_observation() -> None:
    env = RetailEnv(alternatives=True, scenario={"S1": 1, "S2": 1, "S3": 1})
    done = True
    for number in range(3000):
        if done:
            env.reset(seed=number)
        observation, reward, terminated, truncated, info = env.step(random_action(number))
        done = terminated or truncated
        assert observation in env.observation_space
        assert 0.0 <= reward <= 1.0
        assert done == ("outcome" in info)
