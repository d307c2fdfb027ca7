"""Files of JSON lines, read as a stream: one line in memory at a time, bad ones counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError, UsageError
from bench2robust.monitors.sources.parsing import MAX_LINE, parse

__all__ = ["BadLines", "Part", "line_files", "parts_of", "read_rows"]

_MOST_NAMED = 5
_ENOUGH = 100
"""Bad lines after which reading ends, unless they are to be skipped."""
_BOM = b"\xef\xbb\xbf"
_AFTER_NOTHING = "Mend them, or leave them out with --skip-bad."


@dataclass(slots=True)
class BadLines:
    """What could not be read, and whether that is accepted.

    Attributes:
        skip: leave bad lines out; else :meth:`settle` refuses them.
        count: how many there were.
        lines: how many lines of each file were read, good and bad.
        named: the first few, as (file, line number, what is wrong).
    """

    skip: bool = False
    count: int = 0
    lines: Counter[str] = field(default_factory=Counter)
    named: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, path: Path, problem: str) -> None:
        """Note that the newest line of a file is bad.

        Raises:
            DataError: there are too many, and they are not skipped.
        """
        self.count += 1
        if len(self.named) < _MOST_NAMED:
            self.named.append((str(path), self.lines[str(path)], problem))
        if not self.skip and self.count >= _ENOUGH:
            self.settle()

    def merge(self, later: BadLines) -> None:
        """Add what was found in what follows."""
        moved = [(path, n + self.lines[path], problem) for path, n, problem in later.named]
        self.named = (self.named + moved)[:_MOST_NAMED]
        self.count += later.count
        self.lines += later.lines
        if not self.skip and self.count >= _ENOUGH:
            self.settle()

    def settle(self) -> None:
        """Refuse what was read if lines were bad and are not to be skipped.

        Raises:
            DataError: naming the first of them.
        """
        if self.count and not self.skip:
            raise DataError(f"{self.summary()} {_AFTER_NOTHING}")

    def summary(self) -> str:
        """Return how many lines were bad, and the first of them; empty if none was."""
        if not self.count:
            return ""
        named = "; ".join(f"{path}, line {n}: {why}" for path, n, why in self.named)
        more = f"; and {self.count - len(self.named)} more" if self.count > len(self.named) else ""
        return f"{self.count:,} of {self.lines.total():,} lines cannot be read: {named}{more}."


class Part(NamedTuple):
    """The lines of a file that begin at ``start`` or later and before ``end``, in bytes."""

    path: Path
    start: int
    end: int


def line_files(path: Path) -> list[Path]:
    """Return the files of JSON lines that a path means: itself, or those in a folder, by name.

    Raises:
        DataError: there is no such path, or the folder holds none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder.")
    files = sorted(p for p in path.rglob("*.jsonl") if p.is_file())
    if not files:
        raise DataError(f"{path} holds no .jsonl file.")
    return files


def parts_of(files: list[Path], workers: int) -> list[Part]:
    """Cut files into about ``workers`` parts of equal size, at least one for each file.

    Raises:
        UsageError: ``workers`` is not positive.
    """
    if workers < 1:
        raise UsageError(f"--workers {workers}: give 1 or more.")
    sizes = {path: path.stat().st_size for path in files}
    share = max(1, -(-sum(sizes.values()) // workers))
    return [
        Part(path, start, min(start + share, size))
        for path, size in sizes.items()
        for start in range(0, max(size, 1), share)
    ]


def read_rows(
    part: Part, bad: BadLines, progress: Callable[[int], None] = lambda done: None
) -> Iterator[tuple[int, Json]]:
    """Yield (offset, value) of every line of a part; blank lines mean nothing.

    Args:
        bad: is told of every line that cannot be read.
        progress: is called with how many bytes each line took.

    Raises:
        DataError: too many lines are bad and they are not skipped.
    """
    offset = part.start
    with open(part.path, "rb") as file:
        if offset:  # the line that begins before the part belongs to the one before
            file.seek(offset - 1)
            offset += _skip_line(file.readline, b"") - 1
        while offset < part.end and (line := file.readline(MAX_LINE + 1)):
            bad.lines[str(part.path)] += 1
            size = len(line) if len(line) <= MAX_LINE else _skip_line(file.readline, line)
            try:
                row = _row(line, offset)
            except ValueError as problem:
                bad.add(part.path, str(problem))
            else:
                if row is not None:
                    yield offset, row[0]
            offset += size
            progress(size)


def _row(line: bytes, offset: int) -> tuple[Json] | None:
    if len(line) > MAX_LINE:
        raise ValueError(f"longer than {MAX_LINE:,} bytes")
    if not offset and line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("the file is UTF-16: save it as UTF-8")
    line = line.removeprefix(_BOM) if not offset else line
    line = line.strip(b" \t\r\n")
    return (parse(line),) if line else None


def _skip_line(readline: Callable[[int], bytes], line: bytes) -> int:
    """Read on to the end of a line, and return how many bytes it has."""
    size = len(line)
    while not line.endswith(b"\n") and (line := readline(MAX_LINE)):
        size += len(line)
    return size
