"""The training processes of a run."""

from __future__ import annotations

import atexit
import os
import sys

import torch
from accelerate import PartialState
from accelerate.utils import gather

__all__ = ["any_rank", "leave", "processes"]


def processes() -> PartialState:
    """Return what this process knows of the others; without accelerators they talk by gloo."""
    return PartialState(cpu=not torch.cuda.is_available())


def any_rank(flag: bool) -> bool:
    """Say whether any process has the flag, such as of a signal that reached one of them only."""
    told = torch.tensor([float(flag)], device=processes().device)
    return bool(gather(told).sum() > 0)


def leave() -> None:
    """End a process that talks with others, with exit code 0; return where it talks with none.

    Python must not take itself apart beside the threads of gloo: one that lets go of its last
    tensor meanwhile aborts the process (PyTorch issue 190489), and its launcher then ends the
    others and takes a run that is done for a failed one.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    torch.distributed.destroy_process_group()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)
