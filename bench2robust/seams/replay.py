"""Repeating the faults of a recorded episode, exactly: what met a call is now on its schedule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bench2robust.core.errors import DataError
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.record_check import problem
from bench2robust.injectors.events import BLOCKED
from bench2robust.injectors.machine import FaultPlan
from bench2robust.injectors.profiles import FaultProfile, load_profile
from bench2robust.seams.leftover import SCRATCH, scratch_episode, scratch_files

__all__ = ["read_episodes", "repeated"]


def read_episodes(path: Path) -> Iterator[EpisodeRecord]:
    """Yield the episodes of a record file, or the one that a scratch file tells of so far.

    Raises:
        DataError: the file cannot be read, or a line of it is no episode record.
    """
    try:
        with open(path, "rb") as file:
            if path.suffix == SCRATCH:
                yield from _so_far(path, file)
                return
            for number, line in enumerate(file, 1):
                yield _episode(line, f"{path}, line {number}")
    except OSError as error:
        raise DataError(f"The record {path} cannot be read: {error.strerror}.") from error


def _so_far(path: Path, file: IO[bytes]) -> Iterator[EpisodeRecord]:
    try:
        record = scratch_episode(file)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no scratch file of a record: {error!r}.") from None
    if record is not None:
        yield record


def _episode(line: bytes, where: str) -> EpisodeRecord:
    try:
        record: EpisodeRecord = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"{where} is no JSON.") from None
    if wrong := problem(record) if isinstance(record, dict) else "it is no object":
        raise DataError(f"{where} is no episode record: {wrong}.")
    return record


def repeated(path: Path) -> FaultPlan:
    """Return the plan that repeats the faults of the last episode of a record file.

    The n-th call of each tool meets what its n-th call met then, whatever else is called; nothing
    is drawn. What a fault does is as then for the same arguments.

    Raises:
        DataError: the file holds no episode of a seam.
    """
    record = next(reversed([*read_episodes(path)]), None)
    if record is None and (left := scratch_files(path)):
        raise DataError(
            f"{path} holds no episode: its program was killed, or goes on. What passed until then "
            f"is in {left[-1]}: give that file instead."
        )
    if record is None or "seam" not in record:
        raise DataError(
            f"{path} holds no episode that was recorded at a seam; an episode of a run is "
            f"repeated by `bench2robust replay`."
        )
    profile = load_profile(record["seam"]["faults"])
    return FaultPlan(
        record["seed"], record["task"], _as_it_was(profile, record), frozenset(record["blocked"])
    )


def _as_it_was(profile: FaultProfile, record: EpisodeRecord) -> FaultProfile:
    met: dict[tuple[str, str], list[int]] = {}
    for row in record["faults"]:
        if row["planned"] != BLOCKED:
            met.setdefault((row["planned"], row["tool"]), []).append(row["nth"] + 1)
    rules = [{"fault": f, "tools": [tool], "nth": nth} for (f, tool), nth in met.items()]
    update = {"probabilities": {}, "clean": 1.0, "tools": {}, "schedule": rules}
    return profile.model_copy(update=update)
