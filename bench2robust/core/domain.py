"""What a domain must provide: tasks, tools, sessions, and a verdict on a finished episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from bench2robust.core.backend import LogEntry, ToolBackend
from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import Task, ToolCall, ToolSpec

__all__ = ["Domain", "Outcome", "Session"]


class Session(ToolBackend, Protocol):
    """The live, private state of one episode, and the tools that act on it."""

    def delta(self) -> Mapping[str, str]:
        """Return what differs from the start: record key to its canonical JSON text.

        Records that were touched and ended as they began are absent, so two sessions are in the
        same state exactly when their deltas are equal.
        """


class Outcome(NamedTuple):
    """The verdict on an episode.

    Attributes:
        success: the task's own criterion is met.
        state: the live state equals the gold state.
        communicated: every required string was told to the user.
        matched: how many gold calls were executed with equal arguments.
        required: how many gold calls there are.
    """

    success: bool
    state: bool
    communicated: bool
    matched: int
    required: int


class Domain(Protocol):
    """A benchmark domain. One object serves any number of concurrent episodes.

    Domains are compared by identity, so that what is worked out about one can be kept.
    """

    def __hash__(self) -> int:
        """Return a hash by identity."""

    @property
    def name(self) -> str:
        """The short name, such as ``retail``."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of the data and tasks; part of every result."""

    @property
    def policy(self) -> str:
        """The policy text that the agent must follow."""

    @property
    def classes(self) -> tuple[FallbackClass, ...]:
        """The fallback-equivalence classes of the augmented tool set."""

    @property
    def transfer_tool(self) -> str:
        """The tool that hands the user to a human; calling it ends the episode."""

    def tasks(self, split: str | None = None) -> Sequence[Task]:
        """Return the tasks of a split (all if None), in the suite's order."""

    def task(self, task_id: str) -> Task:
        """Return one task. Raises ``UnknownNameError`` with the nearest ids."""

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the tool specifications, with the alternative tools if asked."""

    def session(self, task: Task, alternatives: bool = False) -> Session:
        """Return a fresh session at the task's start."""

    def evaluate(
        self, task: Task, session: Session, executed: Sequence[LogEntry], said: Sequence[str]
    ) -> Outcome:
        """Judge a finished episode from its live state and executed log, and from what was said.

        Args:
            executed: the executed log: what really ran.
            said: what the agent told the user, in order.
        """

    def probes(self, known: str, blocked: frozenset[str]) -> Sequence[ToolCall]:
        """Return the read calls, not to ``blocked`` tools, that ``known`` text suffices to make.

        The bounded search behind S3 certificates uses it; at most a few hundred calls.
        """

    def gold_results(self, task: Task) -> Sequence[Json]:
        """Return the parsed results of the task's gold calls, replayed once on a clean session."""
