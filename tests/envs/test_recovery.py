from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import Brief, Move, Say, Situation
from bench2robust.agents.scripted import ScriptedAgent
from bench2robust.agents.signals import SIGNALS
from bench2robust.agents.strategies import STRATEGIES
from bench2robust.core.errors import UsageError
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, RetailRecoveryEnv
from bench2robust.envs.recovery import FIELDS, RECEIPT_FIELDS, encode, possible
from bench2robust.envs.watching import clean_calls
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.monitors.contract import save_contract
from bench2robust.monitors.miner import Miner

COUNT = st.integers(0, 40)
SITUATIONS = st.builds(
    Situation,
    writes=st.booleans(),
    signal=st.sampled_from(SIGNALS),
    failures=COUNT,
    fetches=COUNT,
    alternatives=COUNT,
    switched=st.booleans(),
    missing=st.booleans(),
    agreeing=COUNT,
    landed=st.sampled_from([None, True, False]),
    matters=st.booleans(),
    steps_left=st.integers(0, 25),
    steps_needed=st.integers(0, 60),
    last=st.booleans(),
)
PLAIN = Situation(False, "", 0, 1, 0, False, False, 1, None, True, 20, 4, True)


def run(env: RetailRecoveryEnv, policy: Any) -> tuple[float, dict[str, Any]]:
    """Play the episode that was just reset; return its reward and last info."""
    while True:
        _, reward, terminated, truncated, info = env.step(policy(env))
        if terminated or truncated:
            return reward, info


@given(SITUATIONS)
def test_every_situation_is_in_the_space(situation: Situation) -> None:
    space = gym.spaces.Box(0.0, 1.0, (len(FIELDS),), np.float32)
    assert encode(situation, 25) in space
    mask = possible(situation)
    assert mask.shape == (len(Move),)
    assert set(mask.tolist()) <= {0, 1}
    assert mask[Move.PROCEED] == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"writes": True}, "writes"),
        ({"failures": 2}, "failures"),
        ({"fetches": 2}, "fetches"),
        ({"alternatives": 1}, "alternatives"),
        ({"switched": True}, "switched"),
        ({"missing": True}, "missing"),
        ({"agreeing": 2}, "agreeing"),
        ({"landed": False}, "looked"),
        ({"matters": False}, "matters"),
        ({"steps_left": 19}, "steps_left"),
        ({"steps_needed": 5}, "steps_needed"),
        ({"last": False}, "last"),
    ],
)
def test_each_fact_has_its_own_element(change: dict[str, Any], field: str) -> None:
    before, after = encode(PLAIN, 25), encode(PLAIN._replace(**change), 25)
    assert np.flatnonzero(before != after).tolist() == [FIELDS.index(field)]


def test_no_fact_is_left_out() -> None:
    shown = {field.split("=")[0] for field in FIELDS}
    names = {"tool", "wanted", "target"}  # the decision is one and the same for every tool
    receipts = {"receipt", "listed"}  # no monitor stands in this environment
    assert shown == {*Situation._fields, "looked"} - names - receipts


def test_landed_writes_are_told_from_lost_ones() -> None:
    lost, landed = (encode(PLAIN._replace(landed=x), 25) for x in (False, True))
    assert np.flatnonzero(lost != landed).tolist() == [FIELDS.index("landed")]


def test_signals_are_one_hot() -> None:
    rows = np.array([encode(PLAIN._replace(signal=s), 25)[: len(SIGNALS)] for s in SIGNALS])
    assert (rows == np.eye(len(SIGNALS))).all()
    assert [f.split("=")[0] for f in FIELDS[: len(SIGNALS)]] == ["signal"] * len(SIGNALS)


@pytest.mark.parametrize("name", [n for n in STRATEGIES if n != "liar"])
@pytest.mark.parametrize("scenario", ["S1", "S2", "S3"])
def test_a_strategy_fares_as_in_the_plain_episode(name: str, scenario: str) -> None:
    strategy, _ = STRATEGIES[name]
    env = RetailRecoveryEnv(scenario=scenario, split="test")
    situations: list[Situation] = []

    def seen(situation: Situation) -> Move:
        situations.append(situation)
        return strategy(situation)

    for seed in range(8):
        _, info = env.reset(seed=seed)
        twin, moves = direct(env._episode, seen, name)
        observations = []
        for move in moves:
            observation, reward, terminated, truncated, info = env.step(move)
            observations.append(observation)
        assert terminated or truncated
        assert env._episode is not None
        assert env._episode.observed.entries == twin.observed.entries
        assert info["episode"]["success"] == twin.outcome().success
        expected = [encode(s, 25) for s in situations[1:]]
        assert np.array_equal(np.array(observations[:-1]), np.array(expected)) or not expected
        assert not observations[-1].any()
        if scenario != "S3":
            assert reward == float(twin.outcome().success)
        situations.clear()


def direct(model: Episode | None, strategy: Any, name: str) -> tuple[Episode, list[Move]]:
    """Play the same episode with the scripted agent; return it and the moves made."""
    assert model is not None
    settings = model.settings
    moves: list[Move] = []

    def recorded(situation: Situation) -> Move:
        moves.append(strategy(situation))
        return moves[-1]

    episode = Episode(model.domain, model.task, model.seed, settings)
    brief = Brief(
        episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
    )
    actions = ScriptedAgent(name, brief, recorded).run()
    back: Any = None
    while not episode.check_limit():
        try:
            action = actions.send(back)
        except StopIteration:
            break
        back = episode.say(action.text) if isinstance(action, Say) else episode.call(action)
    return episode, moves


def test_random_moves_never_break_an_episode() -> None:
    env = RetailRecoveryEnv()
    env.action_space.seed(0)
    endings = set()
    for seed in range(150):
        env.reset(seed=seed)
        reward, info = run(env, lambda env: env.action_space.sample())
        assert reward in (0.0, 1.0)
        assert 0 < info["episode"]["steps"] <= 25
        endings.add((info["episode"]["scenario"], reward))
    assert {s for s, _ in endings} == {"S1", "S2", "S3"}
    assert {r for _, r in endings} == {0.0, 1.0}


def test_masked_moves_count_as_proceeding() -> None:
    env, twin = RetailRecoveryEnv(), RetailRecoveryEnv()
    compared = set()
    writes, looked = FIELDS.index("writes"), FIELDS.index("looked")
    for seed in range(60):
        observation, info = env.reset(seed=seed)
        twin.reset(seed=seed)
        over = False
        while not over:
            masked = np.flatnonzero(info["action_mask"] == 0).tolist()
            move = masked[-1] if masked else policy_of("PROCEED")(observation)
            if seed % 2 and observation[writes] and not observation[looked]:
                masked, move = [], Move.VERIFY  # so that looking again is masked next
            observation, reward, terminated, truncated, info = env.step(move)
            expected = twin.step(Move.PROCEED if masked else move)
            assert str((observation, reward, terminated, truncated, info)) == str(expected)
            compared |= {Move(move)} if masked else set()
            over = terminated or truncated
    assert compared == {Move.SWITCH, Move.VERIFY}


def policy_of(name: str) -> Any:
    """Return a policy over observations: retry three times, then switch, then ``name``."""
    at = {field: index for index, field in enumerate(FIELDS)}

    def policy(observation: Any) -> Move:
        if observation[at["signal=none"]] or observation[at["signal=refused"]]:
            return Move.PROCEED
        if observation[at["failures"]] < 3 / 8:
            return Move.RETRY
        return Move.SWITCH if observation[at["alternatives"]] else Move[name]

    return policy


@pytest.mark.parametrize(("last", "reward"), [("ABSTAIN", 0.7), ("PROCEED", 0.0)])
def test_only_an_exhausted_search_is_a_correct_abstention(last: str, reward: float) -> None:
    env = RetailRecoveryEnv(scenario="S3", faults="none", abstain_reward=0.7)
    rewards = []
    for seed in range(30):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            observation, got, terminated, truncated, info = env.step(policy_of(last)(observation))
            over = terminated or truncated
        assert got == 0.7 * info["episode"]["abstained"]
        assert env._episode is not None
        record = RecordBuilder(env._domain).build(env._episode, "a", "s3")
        assert info["episode"]["abstained"] is record["abstained"]
        rewards.append(got)
    assert rewards.count(reward) >= 20


@pytest.mark.parametrize("scenario", ["S1", "S2", "S3"])
def test_an_early_transfer_is_no_abstention(scenario: str) -> None:
    env = RetailRecoveryEnv(scenario=scenario)
    for seed in range(10):
        env.reset(seed=seed)
        reward, info = run(env, lambda env: Move.ABSTAIN)
        assert not info["episode"]["abstained"]
        assert reward == 0.0


def test_a_solvable_task_cannot_be_abandoned_correctly() -> None:
    env = RetailRecoveryEnv(scenario="S2", faults="none")
    exhausted = 0
    for seed in range(20):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            move = Move.SWITCH if info["action_mask"][Move.SWITCH] else Move.ABSTAIN
            _, reward, terminated, truncated, info = env.step(move)
            over = terminated or truncated
        assert env._episode is not None
        called = {entry.call.name for entry in env._episode.observed.entries}
        hit = [c for c in env._domain.classes if c.name in env._episode.scenario.classes]
        exhausted += all(called >= set(c.members) for c in hit)
        assert not info["episode"]["abstained"]
        assert reward == 0.0
    assert exhausted


def test_recovering_pays() -> None:
    """The environment is worth training on: a sensible policy beats the naive one."""
    means = {}
    for name, policy in [("naive", lambda o: Move.PROCEED), ("sensible", policy_of("ABSTAIN"))]:
        env = RetailRecoveryEnv()
        rewards = []
        for seed in range(120):
            observation, _ = env.reset(seed=seed)
            over = False
            while not over:
                observation, reward, terminated, truncated, _ = env.step(policy(observation))
                over = terminated or truncated
            rewards.append(reward)
        means[name] = np.mean(rewards)
    assert means["sensible"] > means["naive"] + 0.2


def test_it_must_be_reset_before_and_after() -> None:
    env = RetailRecoveryEnv()
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    run(env, lambda env: Move.ABSTAIN)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_a_number_that_is_no_move_is_refused() -> None:
    env = RetailRecoveryEnv()
    env.reset(seed=0)
    for action in (6, -1, 1.5, "1", None, [1]):
        with pytest.raises(UsageError, match="an action is a Move"):
            env.step(action)  # type: ignore[arg-type]
    env.step(np.int64(0))


def test_too_few_steps_for_a_decision_are_named() -> None:
    with pytest.raises(UsageError, match="max_steps=1"):
        RetailRecoveryEnv(max_steps=1).reset(seed=0)
    RetailRecoveryEnv(max_steps=2).reset(seed=0)


def test_a_seed_is_an_episode() -> None:
    def trace(seed: int) -> str:
        env = RetailRecoveryEnv()
        seen: list[Any] = [env.reset(seed=seed)]
        rng = np.random.default_rng(seed)
        while not (len(seen) > 1 and (seen[-1][2] or seen[-1][3])):
            seen.append(env.step(int(rng.integers(6))))
        return str(seen)

    assert trace(1) == trace(1)
    assert len({trace(seed) for seed in range(6)}) > 3


def test_a_monitor_adds_what_a_receipt_tells(tmp_path: Path) -> None:
    miner, domain = Miner(), get_domain("retail")
    for task in domain.tasks("train")[:40]:
        for call, result in clean_calls(domain, task):
            miner.add(call.name, call.arguments, result.content, task.id)
    save_contract(miner.finalise("strict"), tmp_path / "contract.json")
    faults = {"base": "none", "tools": {"get_order_details": {"status_out_of_set": 1.0}}}
    seen = {}
    for monitor in ("baseline", "advisory"):
        watched = f"{monitor}:{tmp_path / 'contract.json'}"
        env = RetailRecoveryEnv(faults=faults, scenario=None, monitor=watched, split="test")
        assert env.observation_space.shape == (len(FIELDS) + len(RECEIPT_FIELDS),)
        told = 0.0
        for seed in range(6):
            observation, _ = env.reset(seed=seed)
            ended = False
            while not ended:
                assert observation in env.observation_space
                told += observation[len(FIELDS)]
                observation, _, terminated, truncated, _ = env.step(Move.PROCEED)
                ended = terminated or truncated
        seen[monitor] = told
    assert seen["baseline"] == 0
    assert seen["advisory"] > 0
    assert RetailRecoveryEnv().observation_space.shape == (len(FIELDS),)
