"""The optimizer of new small models: Muon on hidden matrices, AdamW on the rest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Muon, Optimizer

__all__ = ["MuonAndAdamW"]


class MuonAndAdamW(Optimizer):
    """Two optimizers that step together and are saved as one.

    Muon orthogonalises the update of a matrix, which makes a model of some layers learn to copy
    several times faster than AdamW does; embeddings and norms are no matrices in that sense.

    Args:
        model: whose parameters are optimized.
        matrix_lr: learning rate of the hidden matrices.
        other_lr: learning rate of embeddings, head and norms.
    """

    def __init__(self, model: nn.Module, matrix_lr: float, other_lr: float) -> None:
        skip = {
            id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()
        }
        parameters = [p for p in model.parameters() if p.requires_grad]
        matrices = [p for p in parameters if p.ndim == 2 and id(p) not in skip]
        chosen = {id(p) for p in matrices}
        others = [p for p in parameters if id(p) not in chosen]
        self._parts: tuple[Optimizer, ...] = (
            Muon(matrices, lr=matrix_lr, weight_decay=0.0),
            AdamW(others, lr=other_lr, betas=(0.9, 0.95), weight_decay=0.0),
        )
        super().__init__(list(chain(*(part.param_groups for part in self._parts))), {})
        self._share()

    def _share(self) -> None:
        """Let the groups be the parts' own, so that a schedule of learning rates reaches them."""
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Let both parts step."""
        for part in self._parts:
            part.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for part in self._parts:
            part.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both parts."""
        return {"parts": [part.state_dict() for part in self._parts]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the state of both parts."""
        for part, one in zip(self._parts, state["parts"], strict=True):
            part.load_state_dict(one)  # which makes new groups
        self._share()
