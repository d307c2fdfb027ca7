"""What a training run leaves behind besides weights: records, metrics, changes of phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench2robust.curricula import PhaseState
from bench2robust.training.campaign import Score

__all__ = ["METRICS", "Journal"]

METRICS = "metrics.jsonl"


class Journal:
    """The files of a run; a process that is not the first one writes nothing.

    Attributes:
        folder: of the run.
        kept: the share of members that the last group filter left in the loss.
    """

    def __init__(self, folder: Path, writes: bool) -> None:
        self.folder = folder
        self.kept = 1.0
        self._writes = writes

    def iteration(self, before: PhaseState, after: PhaseState, scores: Sequence[Score]) -> None:
        """Note the episodes of an iteration, and a change of phase that they caused."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Add a row of figures."""
        if self._writes:
            with open(self.folder / METRICS, "ab") as file:
                file.write(orjson.dumps(row) + b"\n")
