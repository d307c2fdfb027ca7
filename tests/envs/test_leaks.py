"""Nothing that an agent sees, or finds in ``info`` before the end, tells what is hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.agents.strategies import STRATEGIES
from bench2robust.core.keyed import choose
from bench2robust.envs import NotApplicableError, RetailEnv, RetailRecoveryEnv

Play = Callable[[Any, str], list[Any]]

HIDDEN = re.compile(
    r"\b(?-i:S[123])\b|scenario|blocked|inject|ledger|\bgold\b|oracle|corrupt|\bnoise\b|robust"
    r"|rate_limit|server_error|malformed_response|auth_error|schema_drift|factual_error"
    r"|switch_needed|retry_works|impossible|infeasible|ambiguous_\d|plain_\d|general_\d|changing_\d",
    re.IGNORECASE,
)


def test_hidden_words_are_found() -> None:
    """The detector itself: planted leaks are seen."""
    for leak in ["scenario S2", "task plain_0003", "auth_error", "this is the gold action"]:
        assert HIDDEN.search(f"Hello. {leak}. Bye.")


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("profile", ["paper", "realistic"])
def test_no_hidden_word_is_shown_before_the_end(name: str, profile: str, play: Play) -> None:
    env = RetailEnv(alternatives=True, faults=profile, split="all")
    delivered = set()
    for seed in range(10):
        scenario = choose(("S1", "S2", "S3"), "leak", seed)
        observation, info = env.reset(seed=seed, options={"scenario": scenario})
        seen = [(observation, info)]
        turns = play(env, name)
        seen += [(turn[0], turn[4]) for turn in turns[:-1]]
        seen.append((turns[-1][0], {k: turns[-1][4][k] for k in ("messages", "tools")}))
        for observation, info in seen:
            assert observation.keys() == {"text", "source", "turn"}
            assert info.keys() == {"messages", "tools"}
        shown = without_records(json.dumps(seen, ensure_ascii=False))
        found = HIDDEN.search(shown)
        assert found is None, shown[found.start() - 100 : found.end() + 100]
        delivered |= set(turns[-1][4]["episode"]["faults"])
    assert name == "escalate" or len(delivered) > 3


def without_records(text: str) -> str:
    """Return the text without words of the store's own catalogue that look like hidden ones."""
    return text.replace('\\"gold\\"', "").replace("rose gold", "")


@pytest.mark.parametrize("seed", range(20))
def test_scenarios_look_the_same_until_a_blocked_tool_is_called(seed: int) -> None:
    env = RetailEnv(alternatives=True, faults="none", split="all")
    env.reset(seed=seed)
    shown = set()
    for scenario in ("S1", "S2", "S3"):
        env.reset(seed=seed)
        task = env.episode.task.id
        options = {"scenario": scenario, "task_id": task}
        try:
            texts = [json.dumps(env.reset(seed=seed, options=options))]
        except NotApplicableError:
            continue
        for action in [
            "What is your name?",
            '{"name": "calculate", "arguments": {"expression": "1 + 1"}}',
            "{",
        ]:
            texts.append(json.dumps(env.step(action)))
        assert not env.episode.injector.events
        shown.add("".join(texts))
    assert len(shown) == 1


def test_recovery_shows_the_situation_and_the_mask_only() -> None:
    env = RetailRecoveryEnv()
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            assert info.keys() == {"action_mask"}
            assert observation in env.observation_space
            observation, _, terminated, truncated, info = env.step(0)
            over = terminated or truncated
        assert info.keys() == {"action_mask", "episode"}


def test_recovery_starts_alike_in_every_scenario_without_blocks() -> None:
    """With S2 and S3 the first observation may differ only because a blocked tool answered."""
    env = RetailRecoveryEnv(faults="none")
    for seed in range(20):
        first = {}
        for scenario in ("S1", "S2", "S3"):
            options = {"scenario": scenario, "task_id": "plain_0003", "fault_seed": seed}
            observation, info = env.reset(seed=seed, options=options)
            first[scenario] = (observation.tolist(), info["action_mask"].tolist())
        assert first["S2"] in (first["S1"], first["S3"])
