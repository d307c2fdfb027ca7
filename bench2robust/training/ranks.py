"""The training processes of a run."""

from __future__ import annotations

import atexit

import torch
from accelerate import PartialState

__all__ = ["processes"]


def processes() -> PartialState:
    """Return what this process knows of the others; without accelerators they talk by gloo."""
    return PartialState(cpu=not torch.cuda.is_available())


@atexit.register
def _leave() -> None:
    """Close what the processes talk by: Python may abort if it ends while threads of it run."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
