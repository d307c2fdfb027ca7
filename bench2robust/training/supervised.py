"""Supervised training on sequences of tokens, each with its weight."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset, SequentialSampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from bench2robust.training.examples import Example
from bench2robust.training.preemption import PreemptedError, StopRequest
from bench2robust.training.ranks import any_rank, processes

__all__ = ["supervise"]


def supervise(
    model: Any,
    examples: Dataset[Example],
    arguments: dict[str, Any],
    scratch: Path,
    stop: StopRequest,
    optimizers: Any = (None, None),
) -> None:
    """Train ``model`` on ``examples``, in their order.

    Args:
        arguments: of transformers' trainer, beside those that are the same for all.
        scratch: a folder for what the trainer writes; it is removed afterwards.
        stop: says whether the run was told to end.
        optimizers: optimizer and schedule, or None for those of the arguments.

    Raises:
        PreemptedError: the run was told to end.
    """
    trainer = _Supervised(
        model=model,
        args=TrainingArguments(
            output_dir=str(scratch),
            save_strategy="no",
            report_to=[],
            logging_steps=50,
            disable_tqdm=True,
            remove_unused_columns=False,
            use_cpu=not torch.cuda.is_available(),
            **arguments,
        ),
        train_dataset=examples,
        data_collator=_batch,
        optimizers=optimizers,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Progress(stop))
    trainer.train()
    if processes().is_main_process:
        shutil.rmtree(scratch, ignore_errors=True)


def _batch(examples: Sequence[Example]) -> dict[str, torch.Tensor]:
    """Return token ids, weights and attention mask, (examples, length), padded on the right."""
    length = max(len(example.tokens) for example in examples)

    def padded(rows: Sequence[Sequence[float]]) -> torch.Tensor:
        return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])

    return {
        "input_ids": padded([e.tokens for e in examples]).long(),
        "weights": padded([e.weights for e in examples]).float(),
        "attention_mask": padded([[1] * len(e.tokens) for e in examples]).long(),
    }


class _Progress(TrainerCallback):
    """Shows how the loss falls, and ends when told to."""

    def __init__(self, stop: StopRequest) -> None:
        self._stop = stop

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Look whether the run was told to end."""
        if any_rank(bool(self._stop)):
            raise PreemptedError("Told to end during supervised training, which begins anew.")

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any
    ) -> None:
        """Show a line."""
        if logs and "loss" in logs and state.is_world_process_zero:
            at = f"step {state.global_step} of {state.max_steps}"
            print(f"supervised: {at}, loss {float(logs['loss']):.3f}", flush=True)


class _Supervised(Trainer):
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
        logits = model(input_ids=tokens, attention_mask=inputs["attention_mask"]).logits[:, :-1]
        losses = cross_entropy(logits.transpose(1, 2).float(), tokens[:, 1:], reduction="none")
        return (losses * weights).sum() / weights.sum().clamp(min=1.0)
