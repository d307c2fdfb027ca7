"""Episodes packed for the page: a small index of all, and chunks that are unpacked on demand.

A chunk holds every episode of a few tasks. Seeds, modes and agents of one task share most of what
is said and returned, so each different event is kept once, and episodes refer to it by number.
Chunks are JSON, deflated, in base64: inert text for the page's parser.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import orjson

from bench2robust.core.faults import FAULT_TYPES
from bench2robust.evaluation.metrics import passed
from bench2robust.evaluation.mode_titles import mode_place
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.events import BLOCKED

__all__ = ["OUTCOMES", "ArmKey", "Packer", "packed"]

OUTCOMES = ("passed", "failed", "infra_error", "not_applicable", "uncertified")
CHUNK_BYTES = 256 * 1024
"""About how much JSON a chunk holds: what one click has to unpack."""
ArmKey: TypeAlias = tuple[int, str]
"""The position of a run, and the name of one of its agents."""


def packed(value: bytes) -> str:
    """Return bytes as raw deflate in base64."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(value) + deflate.flush()).decode()


class _Entry(NamedTuple):
    """What the index holds of one episode."""

    task: str
    mode: str
    seed: int
    arm: ArmKey
    suite: str
    planned: str
    realized: str
    outcome: str
    faults: list[str]
    steps: int


class _Task:
    """The episodes of one task of one suite, each different event once."""

    def __init__(self) -> None:
        self.events: dict[bytes, int] = {}
        self.episodes: list[tuple[_Entry, bytes]] = []

    def add(self, entry: _Entry, record: EpisodeRecord) -> None:
        numbers = [
            self.events.setdefault(orjson.dumps(event), len(self.events))
            for event in record["events"]
        ]
        row = {k: v for k, v in record.items() if v not in (None, "", [])}
        self.episodes.append((entry, orjson.dumps({**row, "events": numbers})))

    @property
    def size(self) -> int:
        return sum(map(len, self.events)) + sum(len(row) for _, row in self.episodes)

    def json(self) -> bytes:
        rows = b",".join(row for _, row in self.episodes)
        return b'{"events":[%b],"episodes":[%b]}' % (b",".join(self.events), rows)


class Packer:
    """Takes records one by one, and gives the index and the chunks."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], _Task] = {}

    def add(self, record: EpisodeRecord, arm: ArmKey, suite: str) -> None:
        """Add an episode of one arm; tasks of different suites are different tasks."""
        key = (suite, record["task"])
        self._tasks.setdefault(key, _Task()).add(_entry(record, arm, suite), record)

    def pack(self, arms: Mapping[ArmKey, Mapping[str, str]]) -> tuple[str, list[str]]:
        """Return the index and the chunks.

        Args:
            arms: every arm in the order in which the page lists them, and what it tells of each.
        """
        order = {key: i for i, key in enumerate(arms)}
        for task in self._tasks.values():
            task.episodes.sort(key=lambda e: (_rank(e[0].mode), e[0].seed, order[e[0].arm]))
        groups = list(_groups([self._tasks[key] for key in sorted(self._tasks)]))
        chunks = [packed(b"[%b]" % b",".join(t.json() for t in group)) for group in groups]
        index = {"arms": list(arms.values()), **_index(groups, order)}
        return packed(orjson.dumps(index)), chunks


def _entry(record: EpisodeRecord, arm: ArmKey, suite: str) -> _Entry:
    played = record["status"] == "ok"
    kinds = {row["delivered"] for row in record["faults"] if row["delivered"]}
    kinds |= {BLOCKED for row in record["faults"] if row["planned"] == BLOCKED}
    return _Entry(
        record["task"],
        record["mode"],
        record["seed"],
        arm,
        suite,
        record["scenario"] or "",
        record["realized"] or "",
        ("passed" if passed(record) else "failed") if played else record["status"],
        sorted(kinds),
        record["steps"],
    )


def _rank(mode: str) -> tuple[int, str]:
    return mode_place(mode), mode


def _groups(tasks: list[_Task]) -> Iterator[list[_Task]]:
    """Yield tasks in groups of about one chunk."""
    group: list[_Task] = []
    size = 0
    for task in tasks:
        group.append(task)
        size += task.size
        if size >= CHUNK_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _index(groups: list[list[_Task]], arms: Mapping[ArmKey, int]) -> dict[str, Any]:
    """Return names by kind, and columns that hold their numbers, one row per episode."""
    places = [
        (entry, (chunk, position, slot))
        for chunk, group in enumerate(groups)
        for position, task in enumerate(group)
        for slot, (entry, _) in enumerate(task.episodes)
    ]
    entries = [entry for entry, _ in places]
    names = {
        "tasks": list(dict.fromkeys(e.task for e in entries)),
        "modes": sorted({e.mode for e in entries}, key=_rank),
        "suites": list(dict.fromkeys(e.suite for e in entries)),
        "scenarios": sorted({s for e in entries for s in (e.planned, e.realized)}),
        "outcomes": list(OUTCOMES),
        "kinds": _kinds(entries),
    }
    number = {name: {text: i for i, text in enumerate(texts)} for name, texts in names.items()}
    columns = {
        "task": [number["tasks"][e.task] for e in entries],
        "mode": [number["modes"][e.mode] for e in entries],
        "seed": [e.seed for e in entries],
        "arm": [arms[e.arm] for e in entries],
        "suite": [number["suites"][e.suite] for e in entries],
        "planned": [number["scenarios"][e.planned] for e in entries],
        "realized": [number["scenarios"][e.realized] for e in entries],
        "outcome": [number["outcomes"][e.outcome] for e in entries],
        "faults": [[number["kinds"][k] for k in e.faults] for e in entries],
        "steps": [e.steps for e in entries],
        "place": [place for _, place in places],
    }
    return {**names, "columns": columns}


def _kinds(entries: list[_Entry]) -> list[str]:
    """Return the fault types that were met, those of table 13 first."""
    met = {kind for e in entries for kind in e.faults}
    others = sorted(met - set(FAULT_TYPES) - {BLOCKED})
    return [kind for kind in (*FAULT_TYPES, BLOCKED, *others) if kind in met]
