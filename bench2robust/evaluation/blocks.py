"""The memory block of each arm and mode, and what online memories learn between rounds."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.core.domain import Domain
from bench2robust.evaluation.arms import Arm
from bench2robust.evaluation.modes import Mode
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, record_key
from bench2robust.memory import (
    Memory,
    Tally,
    block,
    combine,
    count,
    fallback_pairs,
    tally,
)

__all__ = ["Blocks"]


class Blocks:
    """Renders blocks. An online arm learns for each mode apart, at the end of a round only."""

    def __init__(self, domain: Domain, arms: Sequence[Arm]) -> None:
        self._domain = domain
        self._online = [arm.label for arm in arms if arm.memory.online]
        self._pairs = fallback_pairs(domain)
        self._tallies: dict[RecordKey, Tally] = {}
        self._learned: dict[tuple[str, str], Memory] = {}
        self._texts: dict[tuple[str, str], str] = {}

    @property
    def learning(self) -> bool:
        """Whether any arm updates its memory."""
        return bool(self._online)

    def text(self, arm: Arm, mode: Mode) -> str:
        """Return the block that the next episode of an arm gets."""
        key = (arm.label, mode.name)
        if key not in self._texts:
            self._texts[key] = self._render(arm, mode)
        return self._texts[key]

    def _render(self, arm: Arm, mode: Mode) -> str:
        learned = self._learned.get((arm.label, mode.name))
        alternatives = mode.settings.alternatives
        return block(arm.memory.variant, arm.start, self._domain, alternatives, learned)

    def note(self, record: EpisodeRecord) -> None:
        """Remember what an episode of an online arm will teach."""
        if record["agent"] in self._online and (found := tally(record, self._pairs)):
            self._tallies[record_key(record)] = found

    def learn(self, mode: Mode, cells: Sequence[tuple[str, int]]) -> None:
        """End a round: add what its (task, seed) cells taught to the memory of each online arm."""
        for label in self._online:
            keys = [(label, mode.name, task, seed) for task, seed in cells]
            taught = [self._tallies.pop(key) for key in keys if key in self._tallies]
            memory = count(taught, self._domain)
            if before := self._learned.get((label, mode.name)):
                memory = combine(before, memory)
            self._learned[label, mode.name] = memory
            self._texts.pop((label, mode.name), None)
