"""Checkpoints that are whole or not there, and which of them stay.

A checkpoint is written into its own folder, and its mark last. What has no mark was cut off by a
kill or a full disk: it is removed, and the one before it still stands.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench2robust.core.errors import DataError, InfrastructureError
from bench2robust.curricula import Curriculum, PhaseState
from bench2robust.evaluation.files import replace_file, sync_tree

__all__ = ["Checkpoint", "Checkpoints"]

_MARK = "complete.json"
_NAME = "checkpoint-"


class Checkpoint(NamedTuple):
    """A whole checkpoint.

    Attributes:
        iteration: how many iterations were done when it was made.
        score: what it came to on the validation tasks, if it was measured.
    """

    folder: Path
    iteration: int
    score: float | None

    def phase(self, curriculum: Curriculum) -> PhaseState:
        """Return where the curriculum stood.

        Raises:
            DataError: it is damaged, or of another curriculum.
        """
        return PhaseState.from_json(curriculum, _read(self.folder / _MARK)["phase"])


class Checkpoints:
    """The checkpoints of a run.

    Args:
        folder: where they are.
        keep: how many stay, besides the best.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self._keep = keep

    def all(self) -> list[Checkpoint]:
        """Return the whole checkpoints, oldest first."""
        marks = [path.parent for path in self.folder.glob(f"{_NAME}*/{_MARK}")]
        found = [_checkpoint(path, _read(path / _MARK)) for path in marks]
        return sorted(found, key=lambda checkpoint: checkpoint.iteration)

    def newest(self) -> Checkpoint | None:
        """Return the newest whole checkpoint."""
        return next(reversed(self.all()), None)

    def best(self) -> Checkpoint | None:
        """Return the first that none beats on the validation tasks, if any was measured."""
        measured = [c for c in self.all() if c.score is not None]
        return max(measured, key=lambda c: c.score or 0.0, default=None)

    def clear_torn(self) -> None:
        """Remove what was cut off in the middle."""
        for path in self.folder.glob(f"{_NAME}*"):
            if not (path / _MARK).exists():
                shutil.rmtree(path)

    def write(
        self, phase: PhaseState, step: int, save: Callable[[], None], score: float | None = None
    ) -> None:
        """Keep a checkpoint: ``save`` writes its weights, then comes the mark.

        Args:
            step: the optimizer step, which names the folder.
            score: on the validation tasks, where it was measured.

        Raises:
            InfrastructureError: it cannot be written; the ones before it are untouched.
        """
        path = self.folder / f"{_NAME}{step}"
        try:
            save()
            sync_tree(path)
            mark = {"iteration": phase.iteration, "phase": phase.to_json(), "score": score}
            replace_file(path / _MARK, [orjson.dumps(mark)])
        except Exception as error:  # of the disk, in whatever library notices it
            shutil.rmtree(path, ignore_errors=True)
            left = self.newest()
            stands = (
                f"the one of iteration {left.iteration} stands" if left else "there is none yet"
            )
            raise InfrastructureError(
                f"The checkpoint {path} cannot be written ({error}); {stands}. Make room and give "
                "the same command again."
            ) from error
        self._drop_old()

    def note_score(self, checkpoint: Checkpoint, score: float | None) -> None:
        """Add to a checkpoint what it came to on the validation tasks."""
        mark = checkpoint.folder / _MARK
        replace_file(mark, [orjson.dumps(_read(mark) | {"score": score})])

    def _drop_old(self) -> None:
        best = self.best()
        for checkpoint in self.all()[: -self._keep]:
            if checkpoint != best:
                shutil.rmtree(checkpoint.folder)


def _checkpoint(folder: Path, mark: dict[str, Any]) -> Checkpoint:
    return Checkpoint(folder, mark["iteration"], mark.get("score"))


def _read(path: Path) -> dict[str, Any]:
    try:
        values: Any = orjson.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    if isinstance(values, dict) and "phase" in values and isinstance(values.get("iteration"), int):
        return values
    raise DataError(f"{path} is no mark of a checkpoint: remove that checkpoint's folder.")
