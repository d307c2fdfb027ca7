"""The warm start of a new small model: demonstrations before any reward."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM

from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import choose, digest, uniform
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Task
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.injectors.scenarios import draw_scenario
from bench2robust.training.campaign import Campaign
from bench2robust.training.compact.copying import copying
from bench2robust.training.compact.demonstrations import demonstrate
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.config import TrainSettings
from bench2robust.training.examples import Example
from bench2robust.training.optimizer import MuonAndAdamW
from bench2robust.training.preemption import StopRequest
from bench2robust.training.saving import save_model
from bench2robust.training.supervised import supervise

__all__ = ["Sequences", "new_model", "warm_start"]

_STILL_COPYING = 8
"""Of so many sequences one is about copying, all the way: demonstrations alone, in which a value
follows soon after it was shown, let a model forget to look further back."""
_WARMUP = 20
"""Steps over which the learning rates rise."""


def new_model(settings: TrainSettings, words: int, attempt: int = 0) -> LlamaForCausalLM:
    """Return a model with random weights, others for each attempt, and ``words`` words."""
    scratch = settings.model.scratch
    if scratch is None:
        raise UsageError("model.scratch says how big the new model is: give it")
    again = int(uniform("initial weights", settings.seed, attempt) * (1 << 31))
    torch.manual_seed(again if attempt else settings.seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=words,
            hidden_size=scratch.hidden,
            num_hidden_layers=scratch.layers,
            num_attention_heads=scratch.heads,
            num_key_value_heads=scratch.heads,
            intermediate_size=scratch.feed_forward,
            tie_word_embeddings=True,
            max_position_embeddings=settings.rollout.context,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )


def warm_start(
    settings: TrainSettings,
    campaign: Campaign,
    lexicon: Lexicon,
    home: Path,
    stop: StopRequest,
    fit: Callable[[LlamaForCausalLM], bool],
) -> Path:
    """Train a new model on demonstrations and return its folder; done before, it is only found.

    Args:
        home: the run folder.
        stop: says whether the run was told to end.
        fit: says whether a model may go on. If not, it begins anew from other weights, as long as
            ``sft.attempts`` allows.

    Raises:
        PreemptedError: it was; a warm start is short, and begins anew when the run goes on.
    """
    folder = _folder(settings, campaign, home)
    if folder.exists():
        return folder
    sequences = Sequences(settings, campaign, lexicon)
    for attempt in range(1, settings.sft.attempts + 1):
        model = new_model(settings, len(lexicon.words), attempt - 1)
        if settings.sft.steps:
            _teach(model, settings, sequences, home, stop)
        if attempt == settings.sft.attempts or fit(model):
            break
        print("supervised: not fit for reinforcement; again from other weights", flush=True)
    save_model(model, lexicon.tokenizer(), folder)
    return folder


def _teach(
    model: LlamaForCausalLM,
    settings: TrainSettings,
    sequences: Sequences,
    home: Path,
    stop: StopRequest,
) -> None:
    sft = settings.sft
    optimizer = MuonAndAdamW(model, sft.words.matrix_learning_rate, sft.learning_rate)
    supervise(
        model,
        sequences,
        {
            "seed": settings.seed,
            "max_steps": sft.steps,
            "per_device_train_batch_size": sft.batch // settings.hardware.ranks,
            "max_grad_norm": 1.0,
        },
        home / "sft.trainer",
        stop,
        (optimizer, LambdaLR(optimizer, _decay(sft.steps))),
    )


def _folder(settings: TrainSettings, campaign: Campaign, home: Path) -> Path:
    """Return where the warm start goes: the run's folder, or where runs share them."""
    if settings.sft.share is None:
        return home / "sft"
    parts = {"seed", "model", "episodes", "sft", "rollout", "hardware"}
    decides = {name: value for name, value in settings.decisive().items() if name in parts}
    folder = Path(settings.sft.share)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / digest(canonical(decides), campaign.domain.digest, size=6)


def _decay(steps: int) -> Callable[[int], float]:
    return lambda step: min(1.0, (step + 1) / _WARMUP) * (1.0 - step / steps)


class Sequences(Dataset[Example]):
    """The sequences of a warm start, each a function of its number.

    Of a demonstration with faults, the scenario is drawn from ``sft.words.mix``; a task that has
    none such is shown in S1.
    """

    def __init__(self, settings: TrainSettings, campaign: Campaign, lexicon: Lexicon) -> None:
        self._settings = settings
        self._campaign = campaign
        self._lexicon = lexicon

    def __len__(self) -> int:
        return self._settings.sft.steps * self._settings.sft.batch

    def __getitem__(self, number: int) -> Example:
        sft, seed = self._settings.sft, self._settings.seed
        if number < sft.words.copying * sft.batch or number % _STILL_COPYING == 0:
            return copying(self._lexicon, seed, number)
        task = choose(self._campaign.tasks, "demonstration", seed, number)
        clean = uniform("clean demonstration", seed, number) < sft.clean
        faults = int(uniform("faults of a demonstration", seed, number) * (1 << 31))
        around = self._campaign.surroundings(None) if clean else self._noisy(task, faults)
        episode = Episode(self._campaign.domain, task, faults, around)
        return demonstrate(episode, self._lexicon, sft.words, number)

    def _noisy(self, task: Task, faults: int) -> EpisodeSettings:
        """Return what surrounds a demonstration with faults, in a scenario that its task has."""
        words = self._settings.sft.words
        scenario = draw_scenario(faults, task.id, words.mix)
        if analyse(self._campaign.domain, task).reason(scenario):
            scenario = "S1"
        return self._campaign.noisy(words.faults, scenario)
