"""The shape of a model: read from its ``config.json``, without loading any library for models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.canonical import parse_json
from bench2robust.core.errors import DataError
from bench2robust.training.config_groups import Model

__all__ = ["KNOWN", "Shape", "model_shape", "on_disk", "shape_of"]


class Shape(NamedTuple):
    """What memory and time depend on.

    Attributes:
        kv_heads: key and value heads (fewer than ``heads`` with grouped queries).
        tied: input and output embeddings are one matrix.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int
    tied: bool

    @property
    def parameters(self) -> int:
        """Weights of a decoder with gated feed-forward layers; norms and biases left out."""
        attention = self.hidden * self.head_dim * 2 * (self.heads + self.kv_heads)
        layer = attention + 3 * self.hidden * self.feed_forward
        return self.layers * layer + self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def linear_widths(self) -> int:
        """Sum of inputs and outputs of a layer's linear maps: what each rank of LoRA adds."""
        h, q, kv = self.hidden, self.heads * self.head_dim, self.kv_heads * self.head_dim
        return 2 * (h + q) + 2 * (h + kv) + 3 * (h + self.feed_forward)

    @property
    def cache_per_token(self) -> int:
        """Bytes of keys and values that a token keeps, at 2 bytes each."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_dim


KNOWN: dict[str, Shape] = {
    "Qwen/Qwen3-4B-Thinking-2507": Shape(2560, 36, 32, 8, 128, 9728, 151_936, True),
    "Qwen/Qwen3-8B": Shape(4096, 36, 32, 8, 128, 12_288, 151_936, False),
}
"""Shapes of the paper's models, so that a run can be planned where they are not at hand."""


def on_disk(model: Model) -> Path | None:
    """Return the folder of a model that is on this machine; None if it has to be fetched."""
    folder = Path(model.path)
    return folder if model.path and (folder / "config.json").is_file() else None


def model_shape(model: Model) -> Shape | None:
    """Return the shape of a model; None if it is neither on disk nor among the known ones.

    Raises:
        DataError: its ``config.json`` cannot be read.
    """
    if model.scratch is not None:
        s = model.scratch
        width = s.hidden // s.heads
        return Shape(s.hidden, s.layers, s.heads, s.heads, width, s.feed_forward, 256, True)
    folder = on_disk(model)
    return _read(folder / "config.json") if folder else KNOWN.get(model.path)


def shape_of(values: dict[str, Any]) -> Shape:
    """Return the shape that the configuration of a decoder of transformers describes."""
    values = values.get("text_config", values)
    hidden, heads = int(values["hidden_size"]), int(values["num_attention_heads"])
    return Shape(
        hidden,
        int(values["num_hidden_layers"]),
        heads,
        int(values.get("num_key_value_heads") or heads),
        int(values.get("head_dim") or hidden // heads),
        int(values["intermediate_size"]),
        int(values["vocab_size"]),
        bool(values.get("tie_word_embeddings", True)),
    )


def _read(path: Path) -> Shape:
    try:
        return shape_of(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise DataError(f"{path} does not describe a decoder: {error}.") from None
