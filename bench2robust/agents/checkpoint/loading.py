"""From a checkpoint on disk to a backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench2robust.agents.checkpoint.files import Checkpoint
from bench2robust.agents.checkpoint.sampling import Sampling
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.errors import DataError, UsageError, shown

if TYPE_CHECKING:
    from bench2robust.agents.checkpoint.generating import TransformersBackend

__all__ = ["LoadError", "load_backend"]


class LoadError(RunStoppedError, DataError):
    """The checkpoint cannot be loaded, so no episode can be played."""


def load_backend(
    checkpoint: Checkpoint,
    sampling: Sampling,
    limit: int,
    *,
    device_map: str = "auto",
    dtype: str = "auto",
    native: bool = True,
    variables: Mapping[str, Any] | None = None,
) -> TransformersBackend:
    """Load a checkpoint. Takes seconds to minutes.

    Args:
        limit: most tokens of a dialogue that is answered.
        device_map: where it goes, as transformers takes it: ``auto``, ``cpu``, ``cuda:1`` …
        dtype: ``auto`` for that of the file, ``float32``, ``bfloat16`` or ``float16``.
        native: whether dialogues come with tools for the chat template.
        variables: further variables of the chat template.

    Raises:
        LoadError: it cannot be loaded, or its template cannot be used.
    """
    try:
        from bench2robust.agents.checkpoint.generating import TransformersBackend

        with _quiet():
            template = _template(checkpoint, variables or {})
            template.check(native)
            model = _model(checkpoint, device_map, dtype)
        return TransformersBackend(model, template, sampling, limit)
    except ImportError as error:
        raise LoadError(
            f"Checkpoints need torch and transformers: pip install 'bench2robust[train]' ({error})."
        ) from error
    except UsageError as error:
        raise LoadError(f"{checkpoint.adapter or checkpoint.model}: {error}") from error
    except Exception as error:
        where = checkpoint.adapter or checkpoint.model
        raise LoadError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error


def _template(checkpoint: Checkpoint, variables: Mapping[str, Any]) -> Any:
    from transformers import AutoTokenizer

    from bench2robust.agents.checkpoint.template import Template

    tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.tokenizer, local_files_only=True, trust_remote_code=False
    )
    if checkpoint.template is not None:
        tokenizer.chat_template = checkpoint.template
    return Template(tokenizer, variables)


def _model(checkpoint: Checkpoint, device_map: str, dtype: str) -> Any:
    import transformers

    untyped: Any = transformers
    model, found = untyped.AutoModelForCausalLM.from_pretrained(
        checkpoint.model,
        dtype=dtype,
        device_map=device_map,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    if found["missing_keys"]:
        raise DataError(f"the file lacks weights of the model: {shown(found['missing_keys'])}.")
    _neutral(model)
    if checkpoint.adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(
            model, checkpoint.adapter, local_files_only=True, use_safetensors=True
        )
    return model.eval()


def _neutral(model: Any) -> None:
    """Keep of the checkpoint's own generation settings only which tokens end a message.

    What else they may hold (temperature, penalties) would override what this run says.
    """
    ends = model.generation_config.eos_token_id
    model.generation_config = type(model.generation_config)(eos_token_id=ends)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the bars of transformers off the terminal, where our own may stand."""
    import transformers

    logging: Any = transformers.utils.logging
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()
