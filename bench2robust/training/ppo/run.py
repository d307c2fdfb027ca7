"""Training the recovery decision with the PPO of Stable-Baselines3, and the contest at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecNormalize

from bench2robust.core.domain import Domain
from bench2robust.core.types import Scenario
from bench2robust.curricula import PhaseState
from bench2robust.domains import get_domain
from bench2robust.envs.lottery import Lottery
from bench2robust.envs.recovery import RetailRecoveryEnv
from bench2robust.envs.setup import episode_settings
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.table import Table
from bench2robust.training.config import TrainSettings
from bench2robust.training.ppo.contest import (
    Contender,
    contest,
    contest_table,
    fixed_contenders,
    oracle,
)
from bench2robust.training.ppo.network import Weights, load_weights, network_strategy, save_weights
from bench2robust.training.ppo.vector import RecoveryVecEnv

__all__ = ["run", "train_policy"]

POLICY = "policy.npz"
TABLES = "tables.md"
_EVALUATION = 1_000_000
"""Seeds from here on are for the contest."""
_EVERY = 10
"""Updates between two lines of progress."""


def run(settings: TrainSettings) -> list[Table]:
    """Train, or take the trained policy that the folder holds, and compare it with the others.

    Raises:
        UsageError: the folder holds another run.
    """
    domain = get_domain("retail", settings.episodes.data)
    values = settings.model_dump(mode="json", exclude={"out"})
    manifest = make_manifest("train", values, settings.hash(), domain.digest, domain.notes)
    with claim_folder(settings.folder, manifest):
        path = settings.folder / POLICY
        if not path.exists():
            save_weights(path, train_policy(settings))
        table = _contest(settings, domain, path)
        replace_file(settings.folder / TABLES, [table.markdown().encode()])
    return [table]


def _contest(settings: TrainSettings, domain: Domain, path: Path) -> Table:
    episodes = settings.episodes
    learned = network_strategy(load_weights(path), episodes.max_steps)
    contenders: dict[str, Contender] = {"ppo": lambda episode: learned, "oracle": oracle}
    around = episode_settings(domain, episodes.faults, True, episodes.side, episodes.max_steps)
    lottery = Lottery(domain, "test", None, _mix(settings), around)
    seeds = range(_EVALUATION, _EVALUATION + settings.ppo.evaluation)
    return contest_table(
        contest(lottery, seeds, {**contenders, **fixed_contenders()}, _abstention(settings))
    )


def _mix(settings: TrainSettings) -> dict[Scenario, float]:
    return PhaseState(settings.schedule()).mix


def _abstention(settings: TrainSettings) -> float:
    return float(settings.reward.abstention)


def train_policy(settings: TrainSettings) -> Weights:
    """Train a policy on training tasks and return its weights.

    With one thread, the same settings give the same weights on one machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _learned(settings)
    finally:
        torch.set_num_threads(threads)


def _learned(settings: TrainSettings) -> Weights:
    ppo = settings.ppo
    env = VecNormalize(_environments(settings), norm_reward=False)
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=ppo.horizon,
        batch_size=ppo.batch,
        n_epochs=ppo.epochs,
        learning_rate=lambda left: ppo.learning_rate * left,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        ent_coef=ppo.entropy,
        policy_kwargs={"net_arch": list(ppo.hidden)},
        seed=settings.seed,
        device="cpu",
    )
    model.learn(ppo.steps, callback=_Progress(ppo.steps, ppo.entropy))
    return _weights(model, env)


def _environments(settings: TrainSettings) -> RecoveryVecEnv:
    episodes = settings.episodes
    keywords: dict[str, Any] = {
        "split": "train",
        "scenario": _mix(settings),
        "faults": episodes.faults,
        "side": episodes.side,
        "abstain_reward": _abstention(settings),
        "max_steps": episodes.max_steps,
        "data": episodes.data,
    }
    return RecoveryVecEnv([RetailRecoveryEnv(**keywords) for _ in range(settings.ppo.environments)])


def _weights(model: PPO, env: VecNormalize) -> Weights:
    policy, statistics = model.policy, env.obs_rms
    assert isinstance(statistics, RunningMeanStd)  # one, because the observation is one vector
    layers: Sequence[Any] = [*policy.mlp_extractor.policy_net, policy.action_net]
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    weights = {
        "mean": np.asarray(statistics.mean, np.float32),
        "scale": np.asarray(1.0 / np.sqrt(statistics.var + env.epsilon), np.float32),
    }
    for place, layer in enumerate(linear):
        weights[f"w{place}"] = layer.weight.detach().numpy()
        weights[f"b{place}"] = layer.bias.detach().numpy()
    return weights


class _Progress(BaseCallback):
    """Tells how far training is, and lets the entropy bonus run out with the learning rate."""

    def __init__(self, steps: int, entropy: float) -> None:
        super().__init__()
        self._steps = steps
        self._entropy = entropy
        self._updates = 0
        self._began = monotonic()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        model = self.model
        assert isinstance(model, PPO)
        left = max(0.0, 1.0 - self.num_timesteps / self._steps)
        model.ent_coef = self._entropy * left
        self._updates += 1
        if self._updates % _EVERY == 0:
            finished = [facts["r"] for facts in model.ep_info_buffer or ()]
            rate = self.num_timesteps / (monotonic() - self._began)
            print(
                f"decisions: {self.num_timesteps:,} of {self._steps:,} ({rate:,.0f}/s), "
                f"mean return {np.mean(finished):.3f}",
                file=sys.stderr,
                flush=True,
            )
