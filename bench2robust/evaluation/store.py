"""The records of a run on disk: ``episodes.jsonl``, one line per episode.

While a run goes on, the file is only appended to, with one ``write`` per record, so that a process
killed at any instant leaves whole lines and at most one torn line at the end. When the run is
complete, the records are sorted by key and put in place in one step: an interrupted run that went
on gives the same bytes as one that was never interrupted. Wall times, which differ from run to
run, go to ``timings.jsonl``.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, record_key

__all__ = ["EPISODES", "TIMINGS", "Store", "read_records"]

EPISODES = "episodes.jsonl"
TIMINGS = "timings.jsonl"
MAX_LINE = 16 * 1024 * 1024
"""Longest line, in bytes, that is read at all."""
SYNC_EVERY = 1000
"""How many records a power failure can cost at most; a killed process loses none."""
_SURROGATE = b"\\ud"
"""How the escape of a lone surrogate begins, which orjson refuses and json reads."""
_NEEDED = {"agent", "mode", "task", "seed", "status"}


def read_records(folder: Path, dialogue: bool = True) -> Iterator[EpisodeRecord]:
    """Yield the newest record of each key, in the order of the file; a torn last line is skipped.

    Args:
        dialogue: False leaves ``events`` empty, which is enough for all figures and far smaller.

    Raises:
        DataError: there is no such file, or a line other than the last is damaged.
    """
    path = folder / EPISODES
    if not path.is_file():
        raise DataError(f"{folder} is not a run folder: it has no {EPISODES}.")
    newest = {record_key(record): start for start, _, record in _scan(path)}
    for start, _, record in _scan(path):
        if newest[record_key(record)] == start:
            if not dialogue:
                record["events"] = []
            yield record


class Store:
    """The open store of one run folder; at most one process has it.

    Raises:
        UsageError: another process is writing to the folder.
        DataError: the file is damaged elsewhere than at its end.
    """

    def __init__(self, folder: Path) -> None:
        self.finished: set[RecordKey] = set()
        """Keys that need no further run (those with an ``infra_error`` do)."""
        self._folder = folder
        self._path = folder / EPISODES
        self._timings: list[bytes] = []
        self._unsynced = 0
        self._lock = _lock(folder)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._recover()
        except BaseException:
            self._release()
            raise

    def _recover(self) -> None:
        """Note what is there, and cut off a torn last line."""
        good = 0
        for _, end, record in _scan(self._path):
            good = end
            if record["status"] != "infra_error":
                self.finished.add(record_key(record))
        os.ftruncate(self._file, good)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, record: EpisodeRecord, seconds: float) -> None:
        """Add a record, and to the sidecar the wall time that its episode took."""
        line = _line(record)
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(f"{self._path}: only {written} of {len(line)} bytes could be written")
        self.note([*record_key(record), round(seconds, 6)])
        self._unsynced += 1
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def note(self, remark: Any) -> None:
        """Add a remark to the sidecar, such as when the run began."""
        self._timings.append(orjson.dumps(remark) + b"\n")

    def sync(self) -> None:
        """Force everything so far to disk."""
        with open(self._folder / TIMINGS, "ab") as file:
            file.writelines(self._timings)
        self._timings.clear()
        os.fsync(self._file)
        self._unsynced = 0

    def finalise(self) -> None:
        """Sort the records by key and drop those that a later one replaced; the last step."""
        self.sync()
        spans = {record_key(record): (start, end) for start, end, record in _scan(self._path)}
        lines = (os.pread(self._file, b - a, a) for _, (a, b) in sorted(spans.items()))
        replace_file(self._path, lines)

    def close(self) -> None:
        """Sync and release the folder."""
        self.sync()
        self._release()

    def _release(self) -> None:
        os.close(self._file)
        os.close(self._lock)


def _lock(folder: Path) -> int:
    """Lock the folder itself, so that no lock file outlives a killed process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise UsageError(
            f"Another process is writing to {folder}: wait for it, or choose another folder."
        ) from None
    return handle


def _scan(path: Path) -> Iterator[tuple[int, int, EpisodeRecord]]:
    """Yield (start, end, record) of each whole line; stop before a torn last one."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = 0
        while line := file.readline(MAX_LINE + 1):
            end = start + len(line)
            record = _parse(line)
            if record is not None:
                yield start, end, record
            elif end < size:
                raise DataError(
                    f"{path} is damaged at byte {start}: no episode record of at most "
                    f"{MAX_LINE} bytes starts there. Move the folder away and run again."
                )
            start = end


def _line(record: EpisodeRecord) -> bytes:
    try:
        return orjson.dumps(record) + b"\n"
    except TypeError:  # a model said what UTF-8 cannot hold, such as a lone surrogate
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _parse(line: bytes) -> EpisodeRecord | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record: EpisodeRecord = _loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.keys() >= _NEEDED else None


def _loads(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        if _SURROGATE not in line:
            raise
        return json.loads(line)
