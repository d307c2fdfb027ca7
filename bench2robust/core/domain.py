"""What a domain must provide: tasks, tools, sessions, and a verdict on a finished episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from bench2robust.core.backend import LogEntry, ToolBackend
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import Task, ToolCall, ToolSpec

__all__ = [
    "Domain",
    "Outcome",
    "Session",
    "UserSide",
    "offered_tools",
    "user_side",
    "user_tools",
]


class Session(ToolBackend, Protocol):
    """The live, private state of one episode, and the tools that act on it."""

    def delta(self) -> Mapping[str, str]:
        """Return what differs from the start: record key to its canonical JSON text.

        Records that were touched and ended as they began are absent, so two sessions are in the
        same state exactly when their deltas are equal.
        """


class UserSide(Protocol):
    """What a session has besides where the user has tools of their own.

    Its :meth:`~bench2robust.core.backend.ToolBackend.call` runs those tools too, as the plans and
    proofs need it; an agent is refused them, and has to ask the user instead.
    """

    def asked(self, said: str) -> Sequence[ToolCall]:
        """Return the calls that the user makes with their own tools on hearing ``said``."""


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

    A domain whose users have tools of their own has, besides, an attribute ``user_tools`` with
    their specifications (see :func:`user_tools`), and sessions that are a :class:`UserSide`. One
    whose tasks offer some of its tools only has a method ``offered`` (see :func:`offered_tools`).
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
    def notes(self) -> tuple[str, ...]:
        """Remarks on the data that accompany every result, such as which tasks are flagged."""

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
        """Return every tool specification, with the alternative tools if asked."""

    def session(self, task: Task, alternatives: bool = False) -> Session:
        """Return a fresh session at the task's start."""

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge a finished episode from its live state and executed log, and from what was said.

        Args:
            executed: the executed log: what really ran.
            said: what the agent told the user, in order.
            observed: the observed log: what the agent saw; None where it saw what ran. It tells
                what the agent was informed of, and nothing about the state.
        """

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make.

        The searches behind plans and S3 certificates use it; the likeliest to help come first.
        """


def user_tools(domain: Domain) -> tuple[ToolSpec, ...]:
    """Return the tools that the user has; empty for most domains."""
    found: tuple[ToolSpec, ...] = getattr(domain, "user_tools", ())
    return found


def offered_tools(
    domain: Domain, task: Task, alternatives: bool = False, heard: int = 0
) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent is shown on a task: for most domains all of them.

    Args:
        heard: how many replies the user has given: further tools may come with one.
    """
    of_task = getattr(domain, "offered", None)
    if of_task is None:
        return domain.tools(alternatives)
    offered: tuple[ToolSpec, ...] = of_task(task, alternatives, heard)
    return offered


def user_side(domain: Domain, session: Session) -> UserSide | None:
    """Return the session as what the user acts on; None where the user has no tools."""
    return cast(UserSide, session) if user_tools(domain) else None
