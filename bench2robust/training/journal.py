"""What a training run leaves behind besides weights: records, figures, changes of phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import orjson

from bench2robust.evaluation.files import replace_file, sync
from bench2robust.evaluation.manifest import claim_folder
from bench2robust.evaluation.store import Store
from bench2robust.training.campaign import Score

__all__ = ["EPISODES", "METRICS", "VALIDATION", "Journal", "open_journal"]

METRICS = "metrics.jsonl"
VALIDATION = "validation.jsonl"
EPISODES = "episodes"


class Journal:
    """The files of a run. Only the first process has a store and writes."""

    def __init__(self, folder: Path, store: Store | None) -> None:
        self.folder = folder
        self._store = store

    def episodes(self, scores: Sequence[Score]) -> None:
        """Keep the records of an iteration."""
        if self._store is not None:
            for score in scores:
                self._store.append(score.record, 0.0)

    def note(self, file: str, row: Mapping[str, Any]) -> None:
        """Add a row of figures of an iteration to a file; what is not known is null."""
        if self._store is not None:
            known = {k: None if _unknown(v) else v for k, v in row.items()}
            with open(self.folder / file, "ab") as out:
                out.write(orjson.dumps(known) + b"\n")

    def sync(self) -> None:
        """Force records and figures to disk, before a checkpoint that comes after them."""
        if self._store is None:
            return
        self._store.sync()
        for path in (self.folder / METRICS, self.folder / VALIDATION):
            if path.exists():
                sync(path)

    def forget(self, iteration: int) -> None:
        """Drop the figures from ``iteration`` on, which a resumed run will bring again."""
        for path in (self.folder / METRICS, self.folder / VALIDATION):
            if self._store is not None and path.exists():
                rows = path.read_bytes().splitlines(keepends=True)
                replace_file(path, [row for row in rows if _before(row, iteration)])

    def finalise(self) -> None:
        """Sort the records; the last step of a run."""
        if self._store is not None:
            self._store.finalise()


def _unknown(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


def _before(line: bytes, iteration: int) -> bool:
    try:
        return bool(orjson.loads(line)["iteration"] < iteration)
    except (ValueError, KeyError, TypeError):  # the torn last line of a killed run
        return False


@contextmanager
def open_journal(folder: Path, manifest: dict[str, Any], first: bool) -> Iterator[Journal]:
    """Open the journal of a run folder, which the caller has claimed.

    Args:
        manifest: of the folder of the episodes, which is a run folder of its own.
        first: whether this is the process that writes.
    """
    with ExitStack() as stack:
        store = None
        if first:
            home = folder / EPISODES
            stack.enter_context(claim_folder(home, manifest))
            store = stack.enter_context(Store(home))
        yield Journal(folder, store)
