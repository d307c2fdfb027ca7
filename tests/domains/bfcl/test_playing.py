"""Everything downstream works on BFCL: users by turns, agents, environments, runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

from bench2robust.agents import Brief, make_agent
from bench2robust.core.domain import offered_tools
from bench2robust.domains import get_domain
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.official import calls_by_turn, official_verdict
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.job import make_job
from bench2robust.evaluation.play import play
from bench2robust.evaluation.runner import run
from bench2robust.injectors.profiles import load_profile
from bench2robust.users import STOP, TurnUser


def played(
    bfcl: BfclDomain, task_id: str, agent: str = "naive", seed: int = 0, **around: object
) -> Episode:
    settings = EpisodeSettings(**{"max_steps": 60, **around})  # type: ignore[arg-type]
    episode = Episode(bfcl, bfcl.task(task_id), seed, settings)
    brief = Brief(bfcl, episode.task, episode.opening, settings.alternatives, settings.max_steps)
    play(make_agent(f"scripted:{agent}", brief).run(), episode)
    return episode


def test_each_message_brings_the_next_request(bfcl: BfclDomain) -> None:
    for task_id in ("multi_turn_base_0", "multi_turn_miss_func_0", "multi_turn_miss_param_0"):
        task = bfcl.task(task_id)
        episode = played(bfcl, task_id)
        assert isinstance(episode.user, TurnUser)
        heard = [text for speaker, text in episode.turns if speaker == "user"]
        assert heard[:-1] == [task.user.opening, *task.user.turns]
        assert STOP in heard[-1]
        assert episode.outcome().success


def test_clean_episodes_have_their_calls_in_the_turns_of_the_benchmark(bfcl: BfclDomain) -> None:
    """So the official verdict, which looks at each turn, passes too."""
    failed = []
    single = [task for task in bfcl.tasks() if not task.user.turns]
    assert len(single) == 6
    for task in (*bfcl.tasks()[::8], *single):
        episode = played(bfcl, task.id)
        assert episode.outcome().success, task.id
        calls = [e.call for e in episode.observed.entries]
        events = [
            {"call": calls[text].name, "args": calls[text].arguments}
            if isinstance(text, int)
            else {"say" if speaker == "assistant" else speaker: text}
            for speaker, text in episode.turns
        ]
        if not official_verdict(bfcl, task.id, calls_by_turn(events))[0]:
            failed.append(task.id)
    assert failed == []


def test_a_lost_answer_counts_and_a_repeated_write_is_a_second_one(bfcl: BfclDomain) -> None:
    profile = load_profile({"probabilities": {"timeout": 0.4}, "commit": "committed"})
    blind = [played(bfcl, t.id, "blind_retry", profile=profile) for t in bfcl.tasks()[:40]]
    naive = [played(bfcl, t.id, "naive", profile=profile) for t in bfcl.tasks()[:40]]
    lost = [e for e in naive if e.outcome().state and not e.outcome().communicated]
    twice = [e for e in blind if e.outcome().communicated and not e.outcome().state]
    assert lost
    assert twice


def test_the_better_strategy_succeeds_more_often(bfcl: BfclDomain) -> None:
    tasks = bfcl.tasks()[:200:2]
    around = {"profile": load_profile("paper"), "scenario": "S1"}
    rates = {
        agent: sum(played(bfcl, t.id, agent, **around).outcome().success for t in tasks)
        for agent in ("naive", "escalate", "retry", "cautious")
    }
    assert rates["escalate"] < rates["retry"]
    assert rates["naive"] < rates["retry"]
    clean = [played(bfcl, t.id, "cautious").outcome().success for t in tasks]
    assert all(clean)


def test_certificates_of_each_scenario(bfcl: BfclDomain) -> None:
    settings = EpisodeSettings(
        profile=load_profile("paper"), alternatives=True, max_steps=60, side="primary"
    )
    made = {
        scenario: [certify(bfcl, t, scenario, 0, settings) for t in bfcl.tasks()[:200:4]]
        for scenario in ("S1", "S2", "S3")
    }
    for scenario, certificates in made.items():
        assert sum(c.status == "certified" for c in certificates) >= 10, scenario
    assert any(c.status == "not_applicable" for c in made["S2"])
    assert not any(c.blocked for c in made["S1"])


@pytest.fixture
def env(bfcl: BfclDomain) -> Iterator[gym.Env[dict[str, object], str]]:
    made = gym.make("Bench2Robust-BFCL", faults="none")
    yield made
    made.close()


def test_check_env(bfcl: BfclDomain) -> None:
    for arguments in (
        {"faults": "none"},
        {"faults": "paper", "scenario": "S2", "alternatives": True},
    ):
        made = gym.make("Bench2Robust-BFCL", **arguments)
        check_env(made.unwrapped, skip_render_check=True)
        made.close()


def test_the_environment_plays_a_task_whose_functions_grow(
    env: gym.Env[dict[str, object], str], bfcl: BfclDomain
) -> None:
    task = bfcl.task("multi_turn_miss_func_0")
    _, info = env.reset(seed=3, options={"task_id": task.id})
    turn, names = 0, [tool["function"]["name"] for tool in info["tools"]]
    assert "sort" not in names and "transfer_to_human_agents" in names
    assert len(names) == len(offered_tools(bfcl, task))
    reward = done = 0.0
    for call, of in zip(task.actions, task.turns, strict=True):
        while turn < of:
            _, _, _, _, info = env.step("What next?")
            turn += 1
        _, reward, *_ = env.step(json.dumps(call._asdict()))
    assert "sort" in [tool["function"]["name"] for tool in info["tools"]]
    while not done:
        _, reward, done, _, info = env.step("That is all.")
    assert reward == 1.0
    assert info["outcome"]["success"]


def test_hostile_actions_change_nothing(env: gym.Env[dict[str, object], str]) -> None:
    env.reset(seed=0, options={"task_id": "multi_turn_base_0"})
    start = env.unwrapped.episode.session  # type: ignore[attr-defined]
    for text in (
        '{"name": "__import__(\'os\').system", "arguments": {"command": "true"}}',
        '{"name": "cd(folder=\'document\')", "arguments": {}}',
        '{"name": "_load_scenario", "arguments": {"scenario": {}}}',
        '{"name": "mkdir", "arguments": "__import__(\'os\').mkdir(\'x\')"}',
        '{"name": "mkdir", "arguments": {"dir_name": {"__class__": "x"}}}',
        '{"name": "mkdir", "arguments": {"self": 1, "dir_name": "x"}}',
    ):
        observation, *_ = env.step(text)
        assert observation["source"] == 2, text
    assert start.delta() == {}


def test_a_run_with_every_agent_and_the_monitor(bfcl: BfclDomain, tmp_path: Path) -> None:
    config = EvalConfig(
        domain="bfcl",
        data="base",
        tasks="test:12",
        agents=["scripted:naive", "scripted:retry", "scripted:receipt", "scripted:cautious"],
        modes=["clean", "inject", "inject_alt", "s3"],
        seeds=2,
        max_steps=60,
        monitor=["none", "auto"],
        out=str(tmp_path / "run"),
    )
    run(make_job(config, get_domain("bfcl", "base")))
    lines = (tmp_path / "run" / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert not any(r["status"] == "infra_error" for r in records)
    clean = [r for r in records if r["mode"] == "clean"]
    assert clean
    assert all(r["success"] for r in clean)
    watched = [r for r in records if "monitor" in r and r["mode"] != "clean"]
    assert any(check for r in watched for check in r["monitor"].values())
