"""Writing a model so that its folder is whole or not there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bench2robust.training.ranks import processes

__all__ = ["save_model"]


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write weights, configuration and tokenizer to a folder that is not there yet.

    Every process calls it; the first one writes, and the others wait.
    """
    if processes().is_main_process:
        _write(model, tokenizer, folder)
    processes().wait_for_everyone()


def _write(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    scratch = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(scratch)
    tokenizer.save_pretrained(scratch)
    os.replace(scratch, folder)
