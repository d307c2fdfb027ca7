"""Writing a model so that its folder is whole or not there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["save_model"]


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write weights, configuration and tokenizer to a folder that is not there yet."""
    scratch = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(scratch)
    tokenizer.save_pretrained(scratch)
    os.replace(scratch, folder)
