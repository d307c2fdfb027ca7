"""Writing a model so that its folder is whole or not there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bench2robust.core.errors import DataError
from bench2robust.evaluation.files import sync_tree
from bench2robust.training.ranks import processes

__all__ = ["check_weights", "save_model"]


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write weights, configuration and tokenizer to a folder that is not there yet.

    Every process calls it, and gives its part of weights that are spread over processes; the first
    one writes, and the others wait.
    """
    weights = _gathered(model)
    if processes().is_main_process:
        _write(model, weights, tokenizer, folder)
    processes().wait_for_everyone()


def _gathered(model: PreTrainedModel) -> dict[str, Any] | None:
    """Return the whole weights of a model that is spread over processes (FSDP), else None."""
    if not any(isinstance(weight, DTensor) for weight in model.parameters()):
        return None
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return get_model_state_dict(model, options=options)


def _write(
    model: PreTrainedModel,
    weights: dict[str, Any] | None,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
) -> None:
    scratch = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(scratch, state_dict=weights)
    tokenizer.save_pretrained(scratch)
    sync_tree(scratch)
    os.replace(scratch, folder)


def check_weights(folder: Path) -> None:
    """Check that the files of weights in a folder are as long as they say.

    Raises:
        DataError: one is not, such as after a disk was lost; the text names the way out.
    """
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            raise DataError(
                f"{path} is damaged ({error}): remove {folder} and give the same command again, "
                "which goes on from what comes before it."
            ) from None
