"""A test as a trial under faults, and what many trials of it come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from bench2robust.core.errors import DataError, UsageError, nearest, shown
from bench2robust.evaluation.statistics import clopper_pearson
from bench2robust.injectors.events import FaultEvent
from bench2robust.seams.options import SeamOptions
from bench2robust.seams.seam import Seam
from bench2robust.seams.wrap import WrappedTools, wrap_tools

__all__ = ["Summary", "Trial", "summaries"]

_OF_THE_TRIAL = ("seed", "task", "record")


class Trial:
    """One run of one test: one seam around all the tools that it takes.

    Attributes:
        name: the test.
        number: which trial of the test it is, from 0.
        seed: the seed of its draws.
        at_least: the pass rate that all trials together must reach, if any.
    """

    def __init__(
        self, name: str, number: int, seed: int, options: SeamOptions, at_least: float | None = None
    ) -> None:
        self.name = name
        self.number = number
        self.seed = seed
        self.at_least = at_least
        self._options = options
        self._seam: Seam | None = None

    @classmethod
    def of(cls, mark: Any, config: Any, name: str, number: int) -> Trial:
        """Return the trial of a test as its marker and the command line have it.

        Raises:
            UsageError: the marker says something that it may not.
        """
        given: dict[str, Any] = dict(mark.kwargs) if mark is not None else {}
        given.pop("n", None)
        at_least = _share(given.pop("at_least", None), name)
        if mark is not None and mark.args:
            if len(mark.args) > 1 or "faults" in given:
                raise UsageError(f"{name}: the marker takes one fault plan; the rest by name.")
            (given["faults"],) = mark.args
        if found := [key for key in _OF_THE_TRIAL if key in given]:
            raise UsageError(
                f"{name}: {', '.join(found)} cannot be set by the marker; see --b2r-seed and "
                f"--b2r-record."
            )
        _check(given, name)
        Seam(**given)  # what is wrong is told before the test runs, and is no trial that failed
        options = cast(SeamOptions, {**given, "record": config.getoption("--b2r-record")})
        return cls(name, number, config.getoption("--b2r-seed") + number, options, at_least)

    @property
    def title(self) -> str:
        """The trial in words."""
        return f"trial {self.number} (seed {self.seed})"

    @property
    def seam(self) -> Seam:
        """The seam of this trial; it is made when it is first asked for."""
        if self._seam is None:
            key = {"seed": self.seed, "task": self.name}
            options = cast(SeamOptions, {**key, **self._options})
            self._seam = Seam(**options)
        return self._seam

    @property
    def ledger(self) -> Sequence[FaultEvent]:
        """The faults that were planned so far."""
        return self.seam.ledger

    def wrap_tools(self, tools: Iterable[Any], **options: Any) -> WrappedTools:
        """Return tools with the faults of this trial around them.

        Args:
            tools: see :func:`~bench2robust.seams.wrap.wrap_tools`.
            options: more options, before any tool was wrapped; they hold over the marker's.

        Raises:
            UsageError: an option is wrong, or comes too late.
        """
        if options and self._seam is not None:
            raise UsageError(f"{self.name}: give options with the first tools; they hold for all.")
        _check(options, self.name)
        self._options = cast(SeamOptions, {**self._options, **options})
        return wrap_tools(tools, seam=self.seam)

    def is_set_up_wrongly(self, error: BaseException) -> bool:
        """Say whether an error is about this seam's options or tools, and none of an agent."""
        return isinstance(error, (UsageError, DataError))

    def row(self) -> dict[str, Any]:
        """Return what a report needs of the trial, as JSON values."""
        return {
            "test": self.name,
            "faults": self.seam.plan.profile.name,
            "seed": self.seam.plan.seed,
            "delivered": self.seam.delivered,
            "at_least": self.at_least,
        }

    def close(self, passed: bool | None) -> None:
        """End the episode, with the verdict of the test."""
        if self._seam is not None:
            self._seam.close(passed, agent=self.name)


def _check(options: Mapping[str, Any], name: str) -> None:
    for key in options:
        if key not in SeamOptions.__annotations__:
            close = " or ".join(map(repr, nearest(key, SeamOptions.__annotations__)))
            hint = f" Did you mean {close}?" if close else ""
            raise UsageError(f"{name}: there is no option {key!r}.{hint}")


def _share(value: Any, name: str) -> float | None:
    if value is None or (isinstance(value, (int, float)) and 0 <= value <= 1):
        return value
    raise UsageError(f"{name}: at_least is {shown(value)}; a pass rate lies from 0 to 1.")


@dataclass(frozen=True)
class Summary:
    """What the trials of one test come to."""

    test: str
    faults: str
    trials: int
    passed: int
    delivered: int
    seeds: tuple[int, int]
    at_least: float | None

    @property
    def short(self) -> bool:
        """Whether the pass rate is less than it must be."""
        return self.at_least is not None and self.passed < self.at_least * self.trials

    @property
    def idle(self) -> bool:
        """Whether every trial failed and no fault was there: then the test itself is broken."""
        return self.passed == 0 and self.delivered == 0

    @property
    def bad(self) -> bool:
        """Whether the run is to fail."""
        return self.short or self.idle

    def text(self) -> str:
        """Return the pass rate with its exact 95 % interval (Clopper and Pearson), in a line."""
        interval = clopper_pearson(self.passed, self.trials)
        rate = f"{self.passed}/{self.trials} passed = {self.passed / self.trials:.0%}"
        low, high = (f"{end:.0%}" for end in interval)
        wanted = f", BELOW {self.at_least:.0%}" if self.short else ""
        wanted += ", ALL FAILED WITHOUT A FAULT" if self.idle else ""
        first, last = self.seeds
        return (
            f"{self.test}: {rate} [{low}, {high}]{wanted} under {self.faults}, seeds {first} to "
            f"{last}, {self.delivered} faults delivered"
        )


class _Key(NamedTuple):
    test: str
    faults: str
    at_least: float | None


def summaries(rows: Iterable[Mapping[str, Any]]) -> Iterator[Summary]:
    """Yield the summary of each test, in the order of its first trial."""
    groups: dict[_Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_Key(row["test"], row["faults"], row["at_least"]), []).append(row)
    for key, found in groups.items():
        seeds = [row["seed"] for row in found]
        yield Summary(
            key.test,
            key.faults,
            len(found),
            sum(row["passed"] for row in found),
            sum(row["delivered"] for row in found),
            (min(seeds), max(seeds)),
            key.at_least,
        )
