"""Every attempt at every request of a run, in ``requests.jsonl``, as it happens.

It differs from run to run (latencies, retries), so it is a sidecar, apart from the episodes. It
holds no words of the dialogue.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict, cast

import orjson

from bench2robust.agents.chat import Attempt
from bench2robust.core.errors import DataError, shown
from bench2robust.evaluation.record_check import row_checker

__all__ = [
    "REQUESTS",
    "NoteAttempt",
    "RequestLog",
    "RequestTotals",
    "read_requests",
    "request_totals",
]

REQUESTS = "requests.jsonl"
NoteAttempt: TypeAlias = Callable[[dict[str, Any], str, str, Attempt], None]
"""What :meth:`RequestLog.append` is: told of one attempt."""
ANSWERED = "ok"
"""The outcome of an attempt that was answered."""
_MAX_LINE = 1024 * 1024
"""Longest line, in bytes, that is read at all."""


class RequestRow(TypedDict):
    """One attempt at one request; if it was answered, with its usage."""

    agent: str
    mode: str
    task: str
    seed: int
    by: str
    model: str
    request: int
    attempt: int
    outcome: str
    seconds: float
    wait: float
    prompt: NotRequired[int]
    completion: NotRequired[int]
    cached: NotRequired[int]
    estimated: NotRequired[bool]
    cost: NotRequired[float | None]


_misfit = row_checker(RequestRow)
_USAGE = {"prompt", "completion", "cached", "estimated", "cost"}


class RequestTotals(NamedTuple):
    """All requests of a run, those of interrupted and repeated episodes too.

    Attributes:
        answered: requests that were answered.
        troubles: attempts that failed, by outcome.
        dollars: of the requests whose price is known.
        unpriced: answered requests without a known price.
    """

    answered: int
    troubles: Counter[str]
    tokens: int
    dollars: float
    unpriced: int


class RequestLog:
    """The open sidecar of a run folder that this process has locked."""

    def __init__(self, folder: Path) -> None:
        path = folder / REQUESTS
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        os.ftruncate(self._file, _whole_lines(path))

    def append(self, episode: dict[str, Any], by: str, model: str, attempt: Attempt) -> None:
        """Add one attempt.

        Args:
            episode: what identifies the episode.
            by: ``agent`` or ``user``.
        """
        usage = attempt.usage
        row = {
            **episode,
            "by": by,
            "model": model,
            "request": attempt.request,
            "attempt": attempt.attempt,
            "outcome": attempt.outcome,
            "seconds": round(attempt.seconds, 6),
            "wait": round(attempt.wait, 6),
        }
        if usage is not None:
            row |= {**usage._asdict(), "cost": attempt.cost}
        os.write(self._file, orjson.dumps(row) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_requests(folder: Path) -> Iterator[RequestRow]:
    """Yield the attempts of a run, in the order of their ends; a torn last line is left out.

    Raises:
        DataError: another line is damaged; the text names file, line and field.
    """
    path = folder / REQUESTS
    if not path.is_file():
        return
    with open(path, "rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), b""), start=1):
            if not line.endswith(b"\n") and len(line) <= _MAX_LINE:
                return  # torn: only a last line has no end
            row = _parse(line)
            if wrong := _problem(row):
                raise DataError(
                    f"{path}, line {number}: {wrong}. Budgets and totals count every line: restore "
                    "it, or take it out if you can do without what it counts."
                )
            yield cast(RequestRow, row)


def _parse(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _problem(row: Any) -> str:
    """Say what is wrong with a row; empty if nothing is."""
    if not isinstance(row, dict):
        return "it is no JSON object"
    missing = sorted(_USAGE - row.keys()) if row.get("outcome") == ANSWERED else ()
    if missing:
        return f"the field {missing[0]} is missing"
    if wrong := _misfit(row):
        return wrong
    below = [name for name in sorted(_USAGE) if (row.get(name) or 0) < 0]
    return f"{below[0]} cannot be {shown(row[below[0]])}" if below else ""


def request_totals(folder: Path) -> RequestTotals:
    """Add up the attempts of a run."""
    troubles: Counter[str] = Counter()
    answered = tokens = unpriced = 0
    dollars = 0.0
    for row in read_requests(folder):
        if row["outcome"] != ANSWERED:
            troubles[row["outcome"]] += 1
            continue
        answered += 1
        tokens += row["prompt"] + row["completion"]
        dollars += row["cost"] or 0.0
        unpriced += row["cost"] is None
    return RequestTotals(answered, troubles, tokens, dollars, unpriced)


def _whole_lines(path: Path) -> int:
    """Return how many bytes of the file are whole lines."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        while size:
            start = max(0, size - 65_536)
            file.seek(start)
            end = file.read(size - start).rfind(b"\n")
            if end >= 0:
                return start + end + 1
            size = start
    return 0
