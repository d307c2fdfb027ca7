"""Mining contracts: one pass over records, in states that merge."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from typing import Any

import orjson

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.errors import DataError, UsageError, shown
from bench2robust.monitors.admission import invariants
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.extensions import extension
from bench2robust.monitors.profiles import Profile, load_profile
from bench2robust.monitors.reading import parsed_result
from bench2robust.monitors.shape import BUCKETS
from bench2robust.monitors.tool_state import ToolState, merged

__all__ = ["FOLDS", "Miner", "fold_of"]

FOLDS = 5
"""The task-disjoint parts of the paper's cross-fit."""
FORMAT = "bench2robust-mining-state"
VERSION = 1
MOST_TOOLS = 10_000


class Miner:
    """Collects records of calls, and says what held on all of them.

    The state does not grow with the number of records, and the state of two shards merged equals
    that of one pass over both.

    Args:
        folds: 1, or the number of task-disjoint parts for cross-fit registries.
        extensions: codes of extension classes to mine as well.

    Raises:
        UsageError: ``folds`` is not positive, or there is no such extension.
    """

    def __init__(self, folds: int = 1, extensions: Sequence[str] = ()) -> None:
        if folds < 1:
            raise UsageError(f"folds must be 1 or more, not {folds}.")
        self.folds = folds
        self.extensions = tuple(sorted(extension(code).code for code in set(extensions)))
        self.tools: dict[str, list[ToolState]] = {}

    @property
    def records(self) -> int:
        """How many records were added."""
        return sum(state.records for states in self.tools.values() for state in states)

    def add(
        self, tool: str, arguments: Mapping[str, Json], response: Json, task: str | None = None
    ) -> None:
        """Add one record: a call and its clean result.

        Args:
            tool: the name of the tool.
            arguments: what it was called with.
            response: the result, parsed or as the text that the agent saw.
            task: what the record belongs to; records of one task never are on both sides of a
                fold. Without it, each record is a task of its own.

        Raises:
            UsageError: there are more than ``MOST_TOOLS`` tools.
        """
        result = parsed_result(response)
        key = zlib.crc32(_bytes(result)) if task is None else fold_key(task)
        states = self.tools.get(tool) or self._open(tool)
        states[key % self.folds].add(arguments, result, 1 << (key // self.folds) % BUCKETS)

    def _open(self, tool: str) -> list[ToolState]:
        if len(self.tools) >= MOST_TOOLS:
            raise UsageError(
                f"There are more than {MOST_TOOLS} tools, such as {shown(tool)}: names of tools "
                f"must not hold data."
            )
        states = self.tools[tool] = [ToolState(self.extensions) for _ in range(self.folds)]
        return states

    def merge(self, other: Miner) -> None:
        """Add everything that another miner has seen; it is unchanged.

        Raises:
            UsageError: it has other folds or extensions, or there are too many tools.
        """
        if (other.folds, other.extensions) != (self.folds, self.extensions):
            raise UsageError(
                "Mining states merge only where they have the same folds and extensions, not "
                f"{self.folds} {list(self.extensions)} and {other.folds} {list(other.extensions)}."
            )
        for tool, theirs in other.tools.items():
            mine = self.tools.get(tool) or self._open(tool)
            for state, more in zip(mine, theirs, strict=True):
                state.merge(more)

    def finalise(self, profile: str | Profile = "strict") -> Contract:
        """Return the contract of all records.

        Raises:
            UsageError: there is no such profile.
        """
        return _contract({t: merged(s) for t, s in self.tools.items()}, load_profile(profile))

    def registries(self, profile: str | Profile = "strict") -> list[Contract]:
        """Return, for each fold, the contract of the records outside it.

        Raises:
            UsageError: there is one fold only, or no such profile.
        """
        if self.folds < 2:
            raise UsageError("Cross-fit registries need folds; make the miner with folds=5.")
        loaded = load_profile(profile)
        others = {tool: _without_each(states) for tool, states in self.tools.items()}
        return [
            _contract({tool: rest[fold] for tool, rest in others.items()}, loaded)
            for fold in range(self.folds)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        tools = {t: [s.to_json() for s in states] for t, states in self.tools.items()}
        how = {"folds": self.folds, "extensions": list(self.extensions)}
        return {"format": FORMAT, "version": VERSION, **how, "tools": tools}

    @classmethod
    def from_json(cls, state: Json) -> Miner:
        """Return the miner of a state that :meth:`to_json` made.

        Raises:
            DataError: it is no such state, or of another version.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise DataError(f"This is no mining state: its field format must be {FORMAT!r}.")
        if state.get("version") != VERSION:
            raise DataError(
                f"The mining state has version {shown(state.get('version'))}; this package reads "
                f"version {VERSION}. Mine the traces again."
            )
        try:
            miner = cls(state["folds"], state["extensions"])
            for tool, states in state["tools"].items():
                miner.tools[tool] = [ToolState.from_json(row) for row in states]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"The mining state is damaged: {shown(error)}.") from error
        return miner


@lru_cache(maxsize=65536)
def fold_key(task: str) -> int:
    """Return the number whose remainders place a task in folds."""
    return int(sha256(task.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16)


def fold_of(task: str, folds: int = FOLDS) -> int:
    """Return the fold of a task: the first 32 bits of its SHA-256, modulo the folds."""
    return fold_key(task) % folds


def _bytes(value: Json) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return canonical(value).encode("utf-8", "surrogatepass")


def _without_each(states: list[ToolState]) -> list[ToolState]:
    """Return, for each state, the merge of all others, from the merges of both sides."""
    before = list(accumulate(states, _both, initial=ToolState()))
    after = list(accumulate(reversed(states), _both, initial=ToolState()))[::-1]
    return [_both(before[k], after[k + 1]) for k in range(len(states))]


def _both(one: ToolState, two: ToolState) -> ToolState:
    return merged((one, two))


def _contract(states: Mapping[str, ToolState], profile: Profile) -> Contract:
    tools = {tool: invariants(state, profile) for tool, state in sorted(states.items())}
    records = {tool: state.records for tool, state in sorted(states.items())}
    return Contract(tools, records, profile.name)
