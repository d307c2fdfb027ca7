"""Every attempt at every request of a run, in ``requests.jsonl``, as it happens.

It differs from run to run (latencies, retries), so it is a sidecar, apart from the episodes. It
holds no words of the dialogue.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from bench2robust.agents.chat import Attempt

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


def read_requests(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the attempts of a run, in the order of their ends; a torn last line is left out."""
    path = folder / REQUESTS
    if path.is_file():
        with open(path, "rb") as file:
            yield from (orjson.loads(line) for line in file if line.endswith(b"\n"))


def request_totals(folder: Path) -> RequestTotals:
    """Add up the attempts of a run."""
    troubles: Counter[str] = Counter()
    answered = tokens = unpriced = 0
    dollars = 0.0
    for row in read_requests(folder):
        if row["outcome"] != "ok":
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
