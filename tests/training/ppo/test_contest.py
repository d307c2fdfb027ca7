from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from bench2robust.agents import Move, Situation
from bench2robust.agents.strategies import cautious
from bench2robust.core.errors import DataError
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, RetailRecoveryEnv
from bench2robust.envs.lottery import Lottery
from bench2robust.envs.recovery import FIELDS, FULL_REPERTOIRE, encode
from bench2robust.envs.setup import episode_settings
from bench2robust.training.ppo.contest import (
    Result,
    contest,
    contest_table,
    fixed_contenders,
    oracle,
)
from bench2robust.training.ppo.network import (
    Weights,
    load_weights,
    network_strategy,
    save_weights,
)

RETAIL = get_domain("retail", None)
LOTTERY = Lottery(
    RETAIL, "test", None, FULL_REPERTOIRE, episode_settings(RETAIL, "paper", True, "primary", 25)
)
PLAIN = Situation(False, "", 0, 1, 0, False, False, 1, None, True, 20, 4, True)


def weights(hidden: int = 5) -> Weights:
    rng = np.random.default_rng(0)
    shapes = {
        "w0": (hidden, len(FIELDS)),
        "b0": (hidden,),
        "w1": (len(Move), hidden),
        "b1": (len(Move),),
    }
    made = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    n = len(FIELDS)
    return {"mean": np.full(n, 0.5, np.float32), "scale": np.full(n, 2.0, np.float32), **made}


def test_the_oracle_knows_what_to_do_and_nobody_else_does() -> None:
    results = contest(LOTTERY, range(150), {"oracle": oracle, **fixed_contenders()}, 1.0)
    assert results["oracle"].mean == 1.0
    assert all(r.mean < 1.0 for name, r in results.items() if name != "oracle")
    assert results["cautious"].mean > results["retry_switch"].mean > results["naive"].mean
    assert len({r.scenarios for r in results.values()}) == 1  # all met the same episodes


def test_an_unpaid_abstention_earns_nothing() -> None:
    (result,) = contest(LOTTERY, range(60), {"oracle": oracle}, 0.0).values()
    assert result.mean_in("S3") == 0.0
    assert result.mean_in("S1") == 1.0


def test_a_contender_earns_what_the_environment_pays() -> None:
    env = RetailRecoveryEnv(split="test")
    seeds = range(40)
    paid = []
    for seed in seeds:
        env.reset(seed=seed)
        episode = env._episode
        assert episode is not None
        reward, over = 0.0, False
        moves = iter(moves_of(episode))
        while not over:
            _, reward, terminated, truncated, _ = env.step(next(moves))
            over = terminated or truncated
        paid.append(reward)
    (result,) = contest(LOTTERY, seeds, {"c": fixed_contenders()["cautious"]}, 1.0).values()
    assert list(result.returns) == paid
    assert 0 < fmean(paid) < 1


def moves_of(model: Episode) -> list[Move]:
    """Return what the cautious strategy does in a twin of an episode."""
    from bench2robust.agents import Brief, ScriptedAgent
    from bench2robust.evaluation.play import play

    moves: list[Move] = []

    def noted(situation: Situation) -> Move:
        moves.append(cautious(situation))
        return moves[-1]

    episode = Episode(model.domain, model.task, model.seed, model.settings)
    brief = Brief(model.domain, model.task, episode.opening, True, 25)
    play(ScriptedAgent("c", brief, noted).run(), episode)
    return moves


def test_the_network_is_what_it_says() -> None:
    w = weights()
    x = (encode(PLAIN, 25) - w["mean"]) * w["scale"]
    logits = w["w1"] @ np.tanh(w["w0"] @ x + w["b0"]) + w["b1"]
    assert network_strategy(w, 25)(PLAIN) == Move(int(logits.argmax()))


def test_weights_survive_a_file(tmp_path: Path) -> None:
    save_weights(tmp_path / "p.npz", weights())
    read = load_weights(tmp_path / "p.npz")
    assert read.keys() == weights().keys()
    assert all((read[name] == value).all() for name, value in weights().items())


@pytest.mark.parametrize("damage", ["cut", "text", "none", "fields", "moves", "pickle"])
def test_what_is_no_policy_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "p.npz"
    made: dict[str, Any] = dict(weights())
    if damage == "fields":
        made["mean"] = made["mean"][:-1]
    if damage == "moves":
        made["b1"] = made["b1"][:-1]
    if damage == "pickle":
        np.savez(path, mean=np.array([object()], dtype=object))
    elif damage == "text":
        path.write_text("no")
    elif damage != "none":
        save_weights(path, made)
        if damage == "cut":
            path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError):
        load_weights(path)


def test_the_table_ranks_and_counts() -> None:
    results = {
        "a": Result((0.0, 1.0, 0.0, 0.0), ("S1", "S1", "S2", "S3")),
        "b": Result((1.0, 1.0, 0.0, 1.0), ("S1", "S1", "S2", "S3")),
    }
    table = contest_table(results)
    assert table.rows == (
        ("b", "75.0", "100.0", "0.0", "100.0"),
        ("a", "25.0", "50.0", "0.0", "0.0"),
    )
    assert "4 episodes" in table.note
