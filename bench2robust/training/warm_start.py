"""The warm start of a new small model: demonstrations before any reward."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import sleep

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
from bench2robust.training.preemption import PreemptedError, StopRequest
from bench2robust.training.ranks import processes
from bench2robust.training.saving import save_model
from bench2robust.training.supervised import supervise

__all__ = ["Sequences", "new_model", "warm_start"]

_STILL_COPYING = 8
"""Of so many sequences one is about copying, all the way: demonstrations alone, in which a value
follows soon after it was shown, let a model forget to look further back."""
_WARMUP = 20
"""Steps over which the learning rates rise."""
_LOOK = 0.5
"""Seconds between two looks whether another run is done with a shared warm start."""


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

    Of runs that share it and begin at once, one trains it, and the others wait.

    Args:
        home: the run folder.
        stop: says whether the run was told to end.
        fit: says whether a model may go on. If not, it begins anew from other weights, as long as
            ``sft.attempts`` allows.

    Raises:
        PreemptedError: it was; a warm start is short, and begins anew when the run goes on.
    """
    folder = _folder(settings, campaign, home)
    with _alone(folder, stop) if settings.sft.share else nullcontext():
        if not folder.exists():
            model = _fit_model(settings, Sequences(settings, campaign, lexicon), home, stop, fit)
            save_model(model, lexicon.tokenizer(), folder)
    return folder


@contextmanager
def _alone(folder: Path, stop: StopRequest) -> Iterator[None]:
    """Hold the lock of a folder that runs share, among runs; of a run's processes the first does.

    Raises:
        PreemptedError: the run was told to end while it waited.
    """
    handle = None
    if processes().is_main_process:
        handle = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if handle is not None:
            _take(handle, folder, stop)
        processes().wait_for_everyone()
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _take(handle: int, folder: Path, stop: StopRequest) -> None:
    said = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not said:
                print(f"supervised: another run makes {folder}; waiting for it", flush=True)
            said = True
        else:
            return
        if stop:
            raise PreemptedError(f"Told to end while another run made {folder}.")
        sleep(_LOOK)


def _fit_model(
    settings: TrainSettings,
    sequences: Sequences,
    home: Path,
    stop: StopRequest,
    fit: Callable[[LlamaForCausalLM], bool],
) -> LlamaForCausalLM:
    """Return a trained model that is fit, or that of the last attempt."""
    attempt = 1
    while True:
        model = new_model(settings, len(sequences.lexicon.words), attempt - 1)
        if settings.sft.steps:
            _teach(model, settings, sequences, home, stop)
        if attempt == settings.sft.attempts or fit(model):
            return model
        print("supervised: not fit for reinforcement; again from other weights", flush=True)
        attempt += 1


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
    parts = {"seed", "model", "episodes", "sft", "rollout"}
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
        self.lexicon = lexicon

    def __len__(self) -> int:
        return self._settings.sft.steps * self._settings.sft.batch

    def __getitem__(self, number: int) -> Example:
        sft, seed = self._settings.sft, self._settings.seed
        if number < sft.words.copying * sft.batch or number % _STILL_COPYING == 0:
            return copying(self.lexicon, seed, number)
        task = choose(self._campaign.tasks, "demonstration", seed, number)
        clean = uniform("clean demonstration", seed, number) < sft.clean
        faults = int(uniform("faults of a demonstration", seed, number) * (1 << 31))
        around = self._campaign.surroundings(None) if clean else self._noisy(task, faults)
        episode = Episode(self._campaign.domain, task, faults, around)
        return demonstrate(episode, self.lexicon, sft.words, number)

    def _noisy(self, task: Task, faults: int) -> EpisodeSettings:
        """Return what surrounds a demonstration with faults, in a scenario that its task has."""
        words = self._settings.sft.words
        scenario = draw_scenario(faults, task.id, words.mix)
        if analyse(self._campaign.domain, task).reason(scenario):
            scenario = "S1"
        return self._campaign.noisy(words.faults, scenario)
