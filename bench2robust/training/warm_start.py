"""The warm start of a new small model: demonstrations before any reward."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset, SequentialSampler
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import choose, uniform
from bench2robust.envs.episode import Episode
from bench2robust.training.campaign import Campaign
from bench2robust.training.compact.copying import copying
from bench2robust.training.compact.demonstrations import Example, demonstrate
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.config import TrainSettings
from bench2robust.training.optimizer import MuonAndAdamW
from bench2robust.training.saving import save_model

__all__ = ["new_model", "warm_start"]

_STILL_COPYING = 5
"""Of so many sequences one is about copying, all the way: demonstrations alone, in which a value
follows soon after it was shown, let a model forget to look further back."""
_WARMUP = 20
"""Steps over which the learning rates rise."""


def new_model(settings: TrainSettings, words: int) -> LlamaForCausalLM:
    """Return a model with random weights for a vocabulary of ``words``."""
    scratch = settings.model.scratch
    if scratch is None:
        raise UsageError("model.scratch says how big the new model is: give it")
    torch.manual_seed(settings.seed)
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


def warm_start(settings: TrainSettings, campaign: Campaign, lexicon: Lexicon, home: Path) -> Path:
    """Train a new model on demonstrations and return its folder; done before, it is only found.

    Args:
        home: the run folder.
    """
    folder = home / "sft"
    if folder.exists():
        return folder
    model = new_model(settings, len(lexicon.words))
    if settings.sft.steps:
        _train(model, settings, _Sequences(settings, campaign, lexicon), home / "sft.log")
    save_model(model, lexicon.tokenizer(), folder)
    return folder


def _train(
    model: LlamaForCausalLM, settings: TrainSettings, sequences: _Sequences, scratch: Path
) -> None:
    sft = settings.sft
    optimizer = MuonAndAdamW(model, sft.words.matrix_learning_rate, sft.learning_rate)
    trainer = _WarmStart(
        model=model,
        args=_arguments(settings, scratch),
        train_dataset=sequences,
        data_collator=_batch,
        optimizers=(optimizer, LambdaLR(optimizer, _decay(sft.steps))),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Progress())
    trainer.train()
    shutil.rmtree(scratch, ignore_errors=True)


def _arguments(settings: TrainSettings, folder: Path) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(folder),
        seed=settings.seed,
        max_steps=settings.sft.steps,
        per_device_train_batch_size=settings.sft.batch,
        max_grad_norm=1.0,
        save_strategy="no",
        report_to=[],
        logging_steps=50,
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not torch.cuda.is_available(),
    )


def _decay(steps: int) -> Callable[[int], float]:
    return lambda step: min(1.0, (step + 1) / _WARMUP) * (1.0 - step / steps)


class _Sequences(Dataset[Example]):
    """The sequences of a warm start, each a function of its number."""

    def __init__(self, settings: TrainSettings, campaign: Campaign, lexicon: Lexicon) -> None:
        self._settings = settings
        self._campaign = campaign
        self._lexicon = lexicon
        self._around = campaign.noisy(settings.sft.words.faults), campaign.surroundings(None)

    def __len__(self) -> int:
        return self._settings.sft.steps * self._settings.sft.batch

    def __getitem__(self, number: int) -> Example:
        sft, seed = self._settings.sft, self._settings.seed
        if number < sft.words.copying * sft.batch or number % _STILL_COPYING == 0:
            return copying(self._lexicon, seed, number)
        task = choose(self._campaign.tasks, "demonstration", seed, number)
        clean = uniform("clean demonstration", seed, number) < sft.clean
        of_faults = int(uniform("faults of a demonstration", seed, number) * (1 << 31))
        episode = Episode(self._campaign.domain, task, of_faults, self._around[clean])
        return demonstrate(episode, self._lexicon, sft.words, number)


def _batch(examples: Sequence[Example]) -> dict[str, torch.Tensor]:
    """Return token ids and weights, (examples, length), padded on the right."""
    length = max(len(example.tokens) for example in examples)

    def padded(rows: Sequence[Sequence[float]]) -> torch.Tensor:
        return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])

    return {
        "input_ids": padded([e.tokens for e in examples]).long(),
        "weights": padded([e.weights for e in examples]).float(),
    }


class _Progress(TrainerCallback):
    """Shows how the loss falls."""

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any
    ) -> None:
        """Show a line."""
        if logs and "loss" in logs:
            print(
                f"warm start: step {state.global_step} of {state.max_steps}, "
                f"loss {float(logs['loss']):.3f}",
                flush=True,
            )


class _WarmStart(Trainer):
    """Takes the sequences in order and weights each token."""

    def _get_train_sampler(self, *args: Any) -> SequentialSampler:
        sequences: Any = self.train_dataset
        return SequentialSampler(sequences)

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        tokens, weights = inputs["input_ids"], inputs["weights"][:, 1:]
        logits = model(input_ids=tokens).logits[:, :-1]
        losses = cross_entropy(logits.transpose(1, 2).float(), tokens[:, 1:], reduction="none")
        return (losses * weights).sum() / weights.sum()
