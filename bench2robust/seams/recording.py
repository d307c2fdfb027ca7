"""Writing down what passes a seam, as it happens, and an episode record of it in the end.

Calls go line by line to a scratch file beside the record, so that a seam may stand for long without
growing; closing it appends the episode, one line, to the record. What looks like a secret is taken
out before it reaches the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

from bench2robust.core.canonical import Json, canonical, parse_result
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import digest
from bench2robust.core.paths import show
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.violation_kinds import kinds_of
from bench2robust.injectors.events import Change, FaultEvent
from bench2robust.injectors.fields import critical_fields
from bench2robust.monitors.ledger import Check
from bench2robust.seams.redact import Redaction

__all__ = ["Recorder", "Row", "append", "is_appended", "locked", "notes"]

Row = dict[str, Json]
"""One line of the scratch file: ``i``, which call it is about, and what is known of it so far; or
``about``, what is known of the episode."""

_NUMBERS = count()


class Recorder:
    """Writes one episode.

    Args:
        path: the record file; the episode is appended to it.
        redaction: what may not be written down.

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(self, path: Path, redaction: Redaction) -> None:
        self._path = path
        self._redaction = redaction
        self._about: Row = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path):  # nobody takes the scratch file for a leftover before it is held
                self._file = _new_scratch(path)
                fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise UsageError(f"The record {path} cannot be written: {error.strerror}.") from error
        self._scratch = Path(self._file.name)

    @property
    def redacted(self) -> int:
        """How many values were taken out."""
        return self._redaction.count

    def about(self, row: Row) -> None:
        """Note what is known of the episode, if it is not noted already."""
        if row != self._about:
            self._about = row
            self._write({"about": row})

    def begin(self, index: int, call: ToolCall) -> None:
        """Note that a call began."""
        arguments = self._redaction.value(call.arguments)
        told = {"call": call.name, "args": arguments, "redacted": self.redacted}
        self._write({"i": index, **told})

    def end(self, index: int, said: ToolResult, more: Row) -> None:
        """Note what the agent got.

        Args:
            more: rows of the ledgers, from :meth:`fault`, :meth:`check` and :meth:`silent`.
        """
        content = self._redaction.result(said.content)
        result = {"error": said.is_error, "result": digest(content), "content": content}
        self._write({"i": index, **result, **more, "redacted": self.redacted})

    def fault(self, event: FaultEvent) -> Row:
        """Return the row of a fault."""
        row = event._asdict()
        row["step"] = row.pop("index")
        return {"fault": {**row, "changes": [self._change(c) for c in event.changes]}}

    def check(self, check: Check) -> Row:
        """Return the row of a result that a monitor looked at."""
        if check.raw.is_error:
            return {}
        row: Row = {"covered": check.covered}
        if check.violations or check.warned:
            row |= {
                "codes": [violation.code for violation in check.violations],
                "paths": [violation.path for violation in check.violations],
                "recovery": list(check.recovery),
                "warned": check.warned,
                "raw": self._redaction.result(check.raw.content),
            }
        return {"check": row}

    def silent(
        self, spec: ToolSpec, call: ToolCall, true: ToolResult, shown: ToolResult, event: FaultEvent
    ) -> Row:
        """Return the row of a silent fault: what it did to the result."""
        fields = critical_fields(spec, true.content)
        before, after = parse_result(true.content), parse_result(shown.content)
        return {"kinds": kinds_of(fields, call.arguments, before, after, event.changes)}

    def rows(self) -> list[Row]:
        """Return what is known of every call that began, in their order."""
        self._file.seek(0)
        rows = notes(self._file)[1]
        self._file.seek(0, os.SEEK_END)
        return rows

    def close(self, record: EpisodeRecord) -> None:
        """Append the episode to the record, in one piece even where others append to it too."""
        with locked(self._path) as file:
            append(file, record, self._file)
        self.discard()

    def discard(self) -> None:
        """Forget what was noted."""
        self._scratch.unlink()
        self._file.close()

    def _change(self, change: Change) -> list[Json]:
        name = next((step for step in reversed(change.path) if isinstance(step, str)), "")
        values = (self._redaction.field(name, v) for v in (change.before, change.after))
        return [show(change.path), *values]

    def _write(self, row: Row) -> None:
        self._file.write(f"{canonical(row)}\n".encode())
        self._file.flush()


@contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """Open a record file to append to it, and hold it alone."""
    with open(path, "a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def append(file: IO[bytes], record: EpisodeRecord, scratch: IO[bytes]) -> None:
    """Append an episode to a record file that is held, and see it on the disk.

    Its scratch file notes first where, so that after a kill :func:`is_appended` knows of it.
    """
    line = f"{canonical(record)}\n"
    note = canonical({"appended": [file.seek(0, os.SEEK_END), digest(line)]})
    scratch.seek(0, os.SEEK_END)
    scratch.write(f"\n{note}\n".encode())  # what stands before may be torn
    scratch.flush()
    file.write(line.encode())
    file.flush()
    os.fsync(file.fileno())


def is_appended(file: IO[bytes], scratch: IO[bytes]) -> bool:
    """Say whether the episode of a scratch file is in the record file, which is held.

    What a kill tore while it was written is removed.
    """
    last = b""
    scratch.seek(0)
    for last in scratch:  # noqa: B007
        pass
    scratch.seek(0)
    try:
        at, told = json.loads(last)["appended"]
        file.seek(at)
    except (ValueError, TypeError, KeyError):
        return False
    line = file.readline()
    if digest(line.decode("utf-8", "replace")) == told:
        return True
    if line and not line.endswith(b"\n"):
        file.truncate(at)
    return False


def notes(file: IO[bytes]) -> tuple[Row, list[Row]]:
    """Return what a scratch file tells of its episode, and of every call in their order.

    A line that is no JSON object, torn when its program was killed, ends it.
    """
    about: Row = {}
    found: dict[int, Row] = {}
    for line in file:
        try:
            row = json.loads(line)
        except ValueError:
            break
        if not isinstance(row, dict):
            break
        about = row.get("about", about)
        if "i" in row:
            found.setdefault(row["i"], {}).update(row)
    return about, [found[index] for index in sorted(found)]


def _new_scratch(path: Path) -> IO[bytes]:
    """Open a scratch file that nobody had: in containers, programs have the same number."""
    while True:
        try:
            return open(path.with_name(f"{path.name}.{os.getpid()}-{next(_NUMBERS)}.part"), "x+b")
        except FileExistsError:
            continue
