"""Training: curricula of controlled faults, hybrid groups and DAPO on TRL, and a demo for CPUs.

:func:`run` takes the settings of :class:`~bench2robust.training.config.TrainSettings`; torch, TRL
and the rest are imported only then (``pip install 'bench2robust[train]'``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench2robust.evaluation.table import Table
    from bench2robust.training.config import TrainSettings

__all__ = ["run"]


def run(settings: TrainSettings) -> tuple[Table, ...]:
    """Train as ``settings`` say; see :func:`bench2robust.training.running.run`."""
    from bench2robust.training import running

    return running.run(settings)
