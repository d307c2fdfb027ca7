"""What is known while one step of a plan is being worked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench2robust.agents.signals import Signal
from bench2robust.core.canonical import Json
from bench2robust.core.dataflow import Step
from bench2robust.core.fallback import FallbackPath
from bench2robust.core.paths import MISSING, Path, get
from bench2robust.core.types import ToolCall
from bench2robust.monitors.receipts import Receipt

__all__ = ["Source", "Work", "lacks"]

_EMPTY: tuple[Json, ...] = (MISSING, "", [], {})


@dataclass(slots=True)
class Source:
    """One way to obtain a step's result: the calls to make, and how to read what they return."""

    calls: Sequence[ToolCall]
    read: Callable[[list[Json]], Json | None]
    switched: bool


@dataclass(slots=True)
class Work:
    """The state of obtaining one step's result."""

    step: Step
    call: ToolCall
    source: Source
    untried: list[FallbackPath]
    position: int = 0
    parsed: list[Json] = field(default_factory=list)
    failures: int = 0
    clean: int = 0
    fetches: list[Json] = field(default_factory=list)
    fetched: bool = False
    poor: Json = MISSING
    signal: Signal = ""
    tried_again: bool = False
    landed: bool | None = None
    receipt: Receipt | None = None
    doubts: list[Receipt | None] = field(default_factory=list)

    @property
    def last(self) -> bool:
        """Whether the current call is the last of its path."""
        return self.position == len(self.source.calls) - 1

    @property
    def missing(self) -> bool:
        """Whether a needed value is lacking; after a failed read nothing has come back yet."""
        if self.fetches or not self.step.needed:
            return False
        return self.last and (self.step.writes or not self.signal)

    @property
    def listed(self) -> bool:
        """Whether the next untried path leads to a tool that the receipt names."""
        if self.receipt is None or not self.untried:
            return False
        named = self.receipt.recovery
        return named is None or self.untried[0].target in named

    @property
    def doubt(self) -> Receipt | None:
        """The receipt on the answer; one on another tool's result names no place in it."""
        if self.receipt is None or not self.source.switched:
            return self.receipt
        return self.receipt._replace(paths=())

    def forget(self) -> None:
        """Drop what the newest fetch brought."""
        if self.fetched:
            self.fetches.pop()
            self.doubts.pop()
        self.poor = MISSING

    def start(self, source: Source) -> None:
        """Begin another path."""
        self.source = source
        self.position = 0
        self.parsed = []
        self.failures = 0


def lacks(answer: Json, needed: Sequence[Path]) -> bool:
    """Say whether a needed value is absent or empty in an answer."""
    for path in needed:  # noqa: SIM110 (a generator would cost a microsecond more, once a call)
        if get(answer, path) in _EMPTY:
            return True
    return False
