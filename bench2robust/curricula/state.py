"""Where a training run stands in its curriculum: a pure function of its iteration statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bench2robust.core.canonical import canonical
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.keyed import digest
from bench2robust.core.types import Scenario
from bench2robust.curricula.criteria import (
    Baseline,
    Check,
    checks,
    over_transfer,
    pass_rates,
    success_rates,
)
from bench2robust.curricula.schedule import Curriculum, Phase
from bench2robust.curricula.statistics import IterationStats

__all__ = ["Advanced", "PhaseState"]


class Advanced(NamedTuple):
    """A change of phase, or the early stop, with the figures that caused it.

    Attributes:
        iteration: after which it happened.
        phase: the phase that ended.
        to: the phase that begins; empty for the early stop.
    """

    iteration: int
    phase: str
    to: str
    checks: tuple[Check, ...]

    @property
    def text(self) -> str:
        """The change in words, as logs show it."""
        why = "; ".join(f"{c.name} {c.found} {c.wanted}" for c in self.checks)
        what = f"phase {self.phase} -> {self.to}" if self.to else f"stopped in phase {self.phase}"
        return f"iteration {self.iteration}: {what}: {why}"


@dataclass(frozen=True)
class PhaseState:
    """The state before the next iteration.

    It never changes: :meth:`after` returns the next one. :meth:`to_json` keeps the recorded
    statistics only, and :meth:`from_json` works everything else out of them again, so a resumed
    run cannot disagree with an uninterrupted one.

    Attributes:
        history: the statistics of every iteration so far.
        index: the current phase, from 0.
        entered: how many iterations there were when it began.
        baseline: pass rates of S1 and S2 then.
        changes: every change of phase so far.
        stopped: why training is to stop; empty if it goes on.
    """

    curriculum: Curriculum
    history: tuple[IterationStats, ...] = ()
    index: int = 0
    entered: int = 0
    baseline: Baseline = field(default_factory=dict)
    changes: tuple[Advanced, ...] = ()
    stopped: str = ""

    @property
    def iteration(self) -> int:
        """The number of the next iteration."""
        return len(self.history)

    @property
    def phase(self) -> Phase:
        """The current phase."""
        return self.curriculum.phases[self.index]

    @property
    def _own(self) -> tuple[IterationStats, ...]:
        return self.history[self.entered :]

    @property
    def mix(self) -> dict[Scenario, float]:
        """The shares of scenarios among the injected members of the next iteration."""
        phase, way = self.phase, self._way
        mix = dict(phase.mix)
        if phase.ramp:
            names = phase.mix | phase.ramp.mix
            mix = {
                name: (1 - way) * phase.mix.get(name, 0.0) + way * phase.ramp.mix.get(name, 0.0)
                for name in names
            }
        if phase.sampling == "learnability":
            rates = success_rates(self.curriculum, self._own)
            mix = {name: share * _learnable(rates, name, phase) for name, share in mix.items()}
        total = sum(mix.values())
        return {name: share / total for name, share in mix.items() if share}

    @property
    def max_injections(self) -> int:
        """The fault budget of the next iteration's injected members."""
        phase = self.phase
        end = phase.ramp.max_injections if phase.ramp else None
        if end is None:
            return phase.max_injections
        return round(phase.max_injections + self._way * (end - phase.max_injections))

    @property
    def _way(self) -> float:
        """How much of the phase's ramp is behind, from 0 to 1."""
        ramp = self.phase.ramp
        return min(1.0, len(self._own) / ramp.iterations) if ramp else 0.0

    def after(self, stats: IterationStats) -> PhaseState:
        """Return the state after one more iteration.

        Raises:
            UsageError: it is not the next iteration.
        """
        if stats.iteration != self.iteration:
            raise UsageError(
                f"the statistics are of iteration {stats.iteration}; the next is {self.iteration}"
            )
        state = replace(self, history=(*self.history, stats))
        return state._stop() or state._advance() or state

    def _stop(self) -> PhaseState | None:
        stop = self.phase.stop
        found = over_transfer(self.curriculum, stop, self._own) if stop else None
        if found is None or not found.holds:
            return None
        change = Advanced(self.iteration - 1, self.phase.name, "", (found,))
        return replace(self, changes=(*self.changes, change), stopped=change.text)

    def _advance(self) -> PhaseState | None:
        found = self.checks()
        if not found or not all(check.holds for check in found):
            return None
        to = self.curriculum.phases[self.index + 1].name
        change = Advanced(self.iteration - 1, self.phase.name, to, tuple(found))
        return replace(
            self,
            index=self.index + 1,
            entered=self.iteration,
            baseline=pass_rates(self.curriculum, self._own),
            changes=(*self.changes, change),
        )

    def checks(self) -> list[Check]:
        """Return what the current phase waits for, and what is so far."""
        return checks(self.curriculum, self.phase, self._own, self.baseline)

    def to_json(self) -> dict[str, Any]:
        """Return what a checkpoint keeps, as JSON values."""
        return {
            "curriculum": _identity(self.curriculum),
            "history": [stats.to_json() for stats in self.history],
        }

    @classmethod
    def from_json(cls, curriculum: Curriculum, values: Mapping[str, Any]) -> PhaseState:
        """Return the state that a checkpoint holds.

        Raises:
            UsageError: it is of another curriculum.
            DataError: it is damaged.
        """
        try:
            identity, rows = values["curriculum"], list(values["history"])
        except (KeyError, TypeError):
            raise DataError(
                "The checkpoint holds no state of a curriculum: start the run in another folder."
            ) from None
        if identity != _identity(curriculum):
            raise UsageError(
                f"The checkpoint is of another curriculum than {curriculum.name!r}: resume with "
                "the settings it was made with, or start in another folder."
            )
        return cls.replay(curriculum, [IterationStats.from_json(row) for row in rows])

    @classmethod
    def replay(cls, curriculum: Curriculum, history: Sequence[IterationStats]) -> PhaseState:
        """Return the state after ``history``."""
        state = cls(curriculum)
        for stats in history:
            state = state.after(stats)
        return state


def _learnable(rates: Mapping[Scenario, float], name: Scenario, phase: Phase) -> float:
    rate = rates.get(name, 0.5)  # what was not seen enough counts as most worth drawing
    return rate * (1 - rate) + phase.floor


def _identity(curriculum: Curriculum) -> str:
    return digest(canonical(curriculum.model_dump(mode="json")))
