"""Supervised training of a chat model on dialogues: only its own messages count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from bench2robust.core.errors import UsageError
from bench2robust.training.adapters import adapters
from bench2robust.training.campaign import Campaign
from bench2robust.training.chat_view import ChatLexicon
from bench2robust.training.config import TrainSettings
from bench2robust.training.demonstrations import demonstrate
from bench2robust.training.examples import Example
from bench2robust.training.preemption import StopRequest
from bench2robust.training.saving import save_model
from bench2robust.training.sft_data import SftRow, record_rows, sft_row
from bench2robust.training.supervised import supervise

__all__ = ["chat_start", "weighed"]


def chat_start(
    settings: TrainSettings,
    campaign: Campaign,
    lexicon: ChatLexicon,
    model: Any,
    home: Path,
    stop: StopRequest,
) -> Path:
    """Train a chat model on demonstrations and records; return its folder, also if it was there.

    Raises:
        PreemptedError: the run was told to end.
    """
    folder = home / "sft"
    if folder.exists():
        return folder
    sft, optim = settings.sft, settings.optim
    per_step = optim.micro_batch * settings.hardware.ranks
    if sft.batch % per_step:
        raise UsageError(
            f"sft.batch {sft.batch} does not divide into micro batches of {optim.micro_batch} "
            f"(optim.micro_batch) on {settings.hardware.ranks} ranks: change one of them"
        )
    examples = [weighed(row, lexicon) for row in _rows(settings, campaign)]
    if settings.model.lora:
        from peft import get_peft_model

        model = get_peft_model(model, adapters(settings.model))
    supervise(
        model,
        _Listed(examples[: sft.steps * sft.batch]),
        {
            "seed": settings.seed,
            "max_steps": sft.steps,
            "per_device_train_batch_size": optim.micro_batch,
            "gradient_accumulation_steps": sft.batch // per_step,
            "learning_rate": sft.learning_rate,
            "lr_scheduler_type": optim.schedule,
            "warmup_steps": optim.warmup,
            "weight_decay": optim.weight_decay,
            "max_grad_norm": optim.max_grad_norm,
            "gradient_checkpointing": settings.model.checkpointing,
            "bf16": torch.cuda.is_available() and settings.model.dtype == "bfloat16",
        },
        home / "sft.trainer",
        stop,
    )
    if settings.model.lora:
        model = model.merge_and_unload()  # what follows has adapters of its own
    save_model(model, lexicon.tokenizer(), folder)
    return folder


def _rows(settings: TrainSettings, campaign: Campaign) -> Iterator[SftRow]:
    """Yield the dialogues of records first, and then as many demonstrations as are missing."""
    episodes, domain = settings.episodes, campaign.domain
    wanted = settings.sft.steps * settings.sft.batch
    for folder in settings.sft.records:
        for row in record_rows(Path(folder), domain, episodes.memory):
            wanted -= 1
            yield row
    for record in demonstrate(domain, campaign.tasks, settings, max(0, wanted)):
        yield sft_row(record, domain, episodes.memory, episodes.alternatives)


def weighed(row: SftRow, lexicon: ChatLexicon) -> Example:
    """Return a dialogue in tokens, in which the messages of the assistant count and nothing else.

    It is put together as a rollout is, so that the model learns from what it will be shown.
    """
    messages, tools = row["messages"], row["tools"]
    places = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    tokens: list[int] = []
    weights: list[float] = []
    for last, at in zip((None, *places), places, strict=False):
        if last is None:
            shown = list(lexicon.template.encode(messages[:at], tools))
        else:
            shown = lexicon.between(messages[last], messages[last + 1 : at])
        turn = lexicon.turn(messages[: at + 1], tools)
        tokens += [*shown, *turn]
        weights += [*[0.0] * len(shown), *[1.0] * len(turn)]
    return Example(tokens, weights)


class _Listed(Dataset[Example]):
    def __init__(self, examples: list[Example]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, number: int) -> Example:
        return self._examples[number]
