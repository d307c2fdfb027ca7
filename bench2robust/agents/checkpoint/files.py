"""What a checkpoint is on disk, found and checked without loading anything.

A full model is a folder with ``config.json`` and weights; an adapter is one with
``adapter_config.json``, which names its base. Weights are read from safetensors only: a pickle
could run whatever code its author liked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bench2robust.core.errors import DataError, UsageError, shown

__all__ = ["Checkpoint", "find_checkpoint", "fingerprint"]

_ADAPTER, _CONFIG, _BASE = "adapter_config.json", "config.json", "base_model_name_or_path"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
_COUNTED = (".safetensors", ".json", ".jinja", ".model", ".txt")
"""What decides what a checkpoint writes; ``merges.txt`` belongs to some tokenizers."""
_PICKLES = ("*.bin", "*.pt", "*.pth")
_PROMPTS = ("PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "MULTITASK_PROMPT_TUNING", "CPT")
"""Adapters that write before the prompt, where the shared part of all dialogues stands."""
_SAMPLES, _SAMPLE = 256, 4096
"""Of a file of weights so many places are looked at, so many bytes each."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The parts of a checkpoint.

    Attributes:
        model: the folder of the full model: the base, if there is an adapter.
        tokenizer: the folder with the tokenizer.
        template: a chat template that was given for it; None for the tokenizer's own.
        window: tokens that the model was made for; None if its configuration does not say.
    """

    model: Path
    adapter: Path | None
    tokenizer: Path
    template: str | None
    window: int | None


def find_checkpoint(
    path: str, base: str | None = None, chat_template: str | None = None
) -> Checkpoint:
    """Return the checkpoint in a folder.

    Args:
        base: the folder of an adapter's base; by default the one that the adapter names.
        chat_template: a file with a Jinja chat template, in place of the tokenizer's own.

    Raises:
        UsageError: a file is missing or unreadable; the text says what to do.
    """
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file: name the folder that it is in" if folder.exists() else "is not there"
        raise DataError(f"The checkpoint {path} {what}.")
    adapter = folder if (folder / _ADAPTER).is_file() else None
    model = folder if adapter is None else _base_of(adapter, base)
    _check_weights(model)
    tokenizer = _tokenizer(folder, model)
    template = None if chat_template is None else _text(Path(chat_template))
    if template is None and not _has_template(tokenizer):
        raise DataError(
            f"{path} has no chat template, so it is not known how its dialogues are written. Give "
            "one with --chat-template FILE (checkpoint.chat_template): a Jinja file that renders "
            "messages and tools, such as the chat_template.jinja of an instruct model of its "
            "family; or save it in that folder under this name."
        )
    return Checkpoint(model, adapter, tokenizer, template, _window(_json(model / _CONFIG)))


def fingerprint(checkpoint: Checkpoint) -> str:
    """Return 16 hexadecimal digits that tell this checkpoint from others.

    Small files count whole; of weights, size and evenly spread samples, so that it takes
    milliseconds. Training changes nearly every weight: it cannot pass unseen, as one byte could.
    """
    state = blake2b(digest_size=8)
    folders = dict.fromkeys(
        filter(None, (checkpoint.model, checkpoint.adapter, checkpoint.tokenizer))
    )
    for folder in folders:
        for file in sorted(folder.iterdir()):
            if file.suffix in _COUNTED and file.is_file():
                state.update(f"{file.name}:{file.stat().st_size}:".encode())
                for part in _samples(file):
                    state.update(part)
    state.update((checkpoint.template or "").encode())
    return state.hexdigest()


def _samples(file: Path) -> Iterator[bytes]:
    if file.suffix != ".safetensors":
        yield file.read_bytes()
        return
    size = file.stat().st_size
    with open(file, "rb") as stream:
        for index in range(_SAMPLES):
            stream.seek(max(0, size - _SAMPLE) * index // (_SAMPLES - 1))
            yield stream.read(_SAMPLE)


def _base_of(adapter: Path, base: str | None) -> Path:
    config = _json(adapter / _ADAPTER)
    if config.get("peft_type") in _PROMPTS:
        raise UsageError(
            f"The adapter {adapter} is of the kind {config['peft_type']}, which is not supported: "
            "merge it into a full model, or train LoRA."
        )
    if not (adapter / "adapter_model.safetensors").is_file():
        raise _no_weights(adapter, "adapter_model.safetensors")
    named = base or config.get(_BASE)
    if not isinstance(named, str) or not Path(named).is_dir():
        raise DataError(
            f"The adapter {adapter} needs its base model, and {shown(named)} is no folder here: "
            "name the folder with checkpoint.base (--set checkpoint.base=PATH)."
        )
    return Path(named)


def _check_weights(model: Path) -> None:
    if not (model / _CONFIG).is_file():
        raise DataError(
            f"{model} is no checkpoint: it has neither {_CONFIG} nor {_ADAPTER}. Name a folder "
            "that save_pretrained wrote."
        )
    if not any(model.glob("*.safetensors")):
        raise _no_weights(model, "model.safetensors")


def _no_weights(folder: Path, name: str) -> DataError:
    pickles = sorted(file.name for kind in _PICKLES for file in folder.glob(kind))
    if not pickles:
        return DataError(f"{folder} holds no weights: {name} is missing.")
    return DataError(
        f"{folder} holds its weights as a pickle ({pickles[0]}), which is never read, because it "
        "can run code. Convert it to safetensors where you trust it: load it there and call "
        "save_pretrained."
    )


def _tokenizer(*folders: Path) -> Path:
    for folder in folders:
        if any((folder / name).is_file() for name in _TOKENIZERS):
            return folder
    raise DataError(
        f"{folders[0]} has no tokenizer ({', '.join(_TOKENIZERS)}): save it there with "
        "tokenizer.save_pretrained."
    )


def _has_template(folder: Path) -> bool:
    if (folder / "chat_template.jinja").is_file() or (folder / "chat_template.json").is_file():
        return True
    config = folder / "tokenizer_config.json"
    return config.is_file() and bool(_json(config).get("chat_template"))


def _window(config: dict[str, Any]) -> int | None:
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        length = part.get("max_position_embeddings")
        if isinstance(length, int) and length > 0:
            return length
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from None


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{file} must hold a JSON object.")
    return value
