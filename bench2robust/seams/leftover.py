"""The episodes of programs that were killed before they could close their records.

A recorder notes every call in a scratch file as it happens, and holds a lock on it as long as it
lives. A scratch file that nobody holds is all that is left of an episode: whoever records to the
same file next makes an episode of it, so that nothing is lost and nothing stays behind.
"""

from __future__ import annotations

import fcntl
import glob
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bench2robust.core.types import ToolSpec
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.machine import FaultPlan
from bench2robust.injectors.profiles import load_profile
from bench2robust.seams.episode import UNJUDGED, MonitorName, episode_record
from bench2robust.seams.recording import append, is_appended, locked, notes

__all__ = ["SCRATCH", "close_leftovers", "scratch_episode", "scratch_files"]

SCRATCH = ".part"
_KILLED = f"{UNJUDGED}; its program was killed, or went on when this was read"


def close_leftovers(path: Path) -> list[str]:
    """Append to a record file the episodes of programs that were killed while they recorded to it.

    Returns:
        A sentence on each scratch file that was found.
    """
    if not scratch_files(path):
        return []
    try:
        with locked(path) as record:
            return [text for part in scratch_files(path) for text in _closed(part, record)]
    except OSError as error:
        return [f"What is left of earlier episodes beside {path} stays as it is: {error}."]


def scratch_files(path: Path) -> list[Path]:
    """Return the scratch files beside a record file, of programs that go on too."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.*{SCRATCH}"))


def scratch_episode(file: IO[bytes]) -> EpisodeRecord | None:
    """Return the episode that a scratch file tells of so far; None if it tells of no call.

    A line that was torn ends it.

    Raises:
        KeyError, TypeError, ValueError: it is none of this version.
    """
    about, rows = notes(file)
    if not rows and (about or not file.tell()):
        return None
    plan = FaultPlan(
        about["seed"], about["task"], load_profile(about["faults"]), frozenset(about["blocked"])
    )
    tools = [ToolSpec(name, "", {}, kind) for name, kind in about["tools"].items()]
    monitor = MonitorName(*about["monitor"]) if about["monitor"] else None
    redacted = max(row["redacted"] for row in rows)
    record = episode_record(
        rows, plan, tools, about["substitutes"], monitor,
        agent="agent", success=None, redacted=redacted,
    )  # fmt: skip
    record["reason"] = _KILLED
    return record


def _closed(part: Path, record: IO[bytes]) -> Iterator[str]:
    with open(part, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # its program lives
        if is_appended(record, file):
            part.unlink()
            return
        try:
            episode = scratch_episode(file)
        except (ValueError, KeyError, TypeError) as error:
            yield f"{part} is of no episode, and stays as it is: {error!r}."
            return
        if episode is not None:
            append(record, episode, file)
            yield (
                f"The {episode['calls']} calls in {part.name}, whose program was killed, "
                f"are an episode of {record.name} now."
            )
        part.unlink()
