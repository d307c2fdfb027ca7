"""A trained policy without the library that trained it: a few matrices in one ``.npz`` file."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from bench2robust.agents import Move, Situation, Strategy
from bench2robust.core.errors import DataError
from bench2robust.envs.recovery import FIELDS, encode
from bench2robust.evaluation.files import replace_file

__all__ = ["Weights", "load_weights", "network_strategy", "save_weights"]

Weights: TypeAlias = Mapping[str, NDArray[np.float32]]
"""``mean`` and ``scale`` of the observation, shape (fields,), then ``w0``, ``b0`` … of each layer,
shapes (out, in) and (out,); the last layer gives a logit for each move."""


def network_strategy(weights: Weights, max_steps: int) -> Strategy:
    """Return the strategy that makes the likeliest move.

    It is given the encoded situation, as the environment shows it, and nothing else.
    """
    layers = [(weights[f"w{k}"], weights[f"b{k}"]) for k in range(len(weights) // 2 - 1)]
    mean, scale = weights["mean"], weights["scale"]

    def decide(situation: Situation) -> Move:
        x = (encode(situation, max_steps) - mean) * scale
        for place, (matrix, bias) in enumerate(layers):
            x = matrix @ x + bias
            if place < len(layers) - 1:
                x = np.tanh(x)
        return Move(int(x.argmax()))

    return decide


def save_weights(path: Path, weights: Weights) -> None:
    """Write the weights; an older file stays until the new one is whole."""
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **weights)
    replace_file(path, [packed.getvalue()])


def load_weights(path: Path) -> Weights:
    """Return what :func:`save_weights` wrote.

    Raises:
        DataError: the file is missing, damaged, or for another environment.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as packed:
            weights = {name: packed[name].astype(np.float32) for name in packed.files}
        outputs = weights[f"b{len(weights) // 2 - 2}"].shape
        fits = weights["mean"].shape == (len(FIELDS),) and outputs == (len(Move),)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise DataError(f"{path} holds no policy: {error}. Train it again.") from None
    if not fits:
        raise DataError(f"{path} holds a policy for other observations or moves: train it again.")
    return weights
