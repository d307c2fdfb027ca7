"""Mining contracts: one pass over records, in states that merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.profiles import Profile

__all__ = ["Miner"]


class Miner:
    """Collects records of calls, and says what held on all of them.

    Args:
        folds: 1, or the number of task-disjoint parts for cross-fit registries.
        extensions: names of extension classes to mine as well.
    """

    def __init__(self, folds: int = 1, extensions: tuple[str, ...] = ()) -> None:
        self.folds = folds
        self.extensions = extensions

    def add(
        self, tool: str, arguments: Mapping[str, Json], response: Json, task: str | None = None
    ) -> None:
        """Add one record: a call and its (parsed, or still textual) result."""
        raise NotImplementedError

    def merge(self, other: Miner) -> None:
        """Add everything that another miner has seen; it is unchanged."""
        raise NotImplementedError

    def finalise(self, profile: str | Profile = "strict") -> Contract:
        """Return the contract of all records."""
        raise NotImplementedError

    def registries(self, profile: str | Profile = "strict") -> list[Contract]:
        """Return, for each fold, the contract of all records outside it."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, state: Json) -> Miner:
        """Return the miner of a saved state."""
        raise NotImplementedError
