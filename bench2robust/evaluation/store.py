"""The records of a run on disk: ``episodes.jsonl``, one line per episode.

While a run goes on, the file is only appended to, with one ``write`` per record, so that a process
killed at any instant leaves whole lines and at most one torn line at the end. When the run is
complete, the records are sorted by key and put in place in one step: an interrupted run that went
on gives the same bytes as one that was never interrupted. Wall times, which differ from run to
run, go to ``timings.jsonl``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from bench2robust.core.errors import DataError
from bench2robust.evaluation.files import clear_scratch, named, replace_file
from bench2robust.evaluation.manifest import MANIFEST, read_manifest
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, record_key
from bench2robust.evaluation.record_check import problem

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
        DataError: there is no such file, a line other than the last is damaged, or a field of a
            record is wrong; the text names file, line and field.
    """
    path = folder / EPISODES
    if not path.is_file():
        raise DataError(_without_episodes(folder))
    newest = {record_key(record): start for start, _, record in _checked(path)}
    for start, _, record in _scan(path):
        if newest[record_key(record)] == start:
            if not dialogue:
                record["events"] = []
            yield record


def _without_episodes(folder: Path) -> str:
    if (folder / MANIFEST).is_file():
        if read_manifest(folder)["kind"] == "certify":
            return (
                f"{folder} holds certificates, written by `bench2robust certify`, and no episodes: "
                "name the folder of a `bench2robust eval`."
            )
        return f"{folder} holds a run that has no {EPISODES} yet: let the run get to its episodes."
    return f"{folder} is not a run folder: it has no {EPISODES}."


class Store:
    """The open store of one run folder, which the caller has locked.

    Raises:
        DataError: the file is damaged elsewhere than at its end.
    """

    def __init__(self, folder: Path) -> None:
        self.finished: set[RecordKey] = set()
        """Keys that need no further run (those with an ``infra_error`` do)."""
        self.lines: dict[RecordKey, int] = {}
        """For each key that was there at the start, the number of its last line."""
        self._path = folder / EPISODES
        self._spans: dict[RecordKey, tuple[int, int]] = {}  # from where to where its last line is
        self._end = 0
        self._unsynced = 0
        clear_scratch(self._path)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._recover()
            # Unbuffered, so that a killed process loses no row.
            self._timings = open(folder / TIMINGS, "ab", buffering=0)  # noqa: SIM115
        except BaseException:
            os.close(self._file)
            raise

    def _recover(self) -> None:
        """Note what is there, and cut off a torn last line."""
        for number, (start, end, record) in enumerate(_checked(self._path), start=1):
            key = record_key(record)
            self.lines[key] = number
            self._spans[key] = (start, end)
            self._end = end
            if record["status"] != "infra_error":
                self.finished.add(key)
        os.ftruncate(self._file, self._end)

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
        line, key = _line(record), record_key(record)
        try:
            written = os.write(self._file, line)
        except OSError as error:  # which does not say where
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        if written != len(line):
            raise OSError(f"{self._path}: only {written} of {len(line)} bytes could be written")
        self._spans[key] = (self._end, self._end + written)
        self._end += written
        self.note([*key, round(seconds, 6)])
        self._unsynced += 1
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def note(self, remark: Any) -> None:
        """Add a remark to the sidecar, such as when the run began."""
        self._timings.write(orjson.dumps(remark) + b"\n")

    def sync(self) -> None:
        """Force everything so far to disk."""
        with named(self._path):
            os.fsync(self._file)
        self._unsynced = 0

    def finalise(self) -> None:
        """Sort the records by key and drop those that a later one replaced; the last step."""
        self.sync()
        lines = (os.pread(self._file, b - a, a) for _, (a, b) in sorted(self._spans.items()))
        replace_file(self._path, lines)

    def close(self) -> None:
        """Sync and close the files."""
        try:
            self.sync()
        finally:
            self._timings.close()
            os.close(self._file)


def _checked(path: Path) -> Iterator[tuple[int, int, EpisodeRecord]]:
    """Yield what :func:`_scan` does, and look at every field."""
    for number, (start, end, record) in enumerate(_scan(path), start=1):
        if wrong := problem(record):
            raise DataError(
                f"{path}, line {number}: {wrong}. Restore the line, or move the folder away."
            )
        yield start, end, record


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
