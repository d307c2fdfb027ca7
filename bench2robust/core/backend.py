"""The spine: a tool backend, and wrappers around one.

A clean benchmark session is a backend. Everything that the package adds between an agent and its
tools is a :class:`WrapperBackend` that overrides ``call`` and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from bench2robust.core.types import ToolCall, ToolResult, ToolSpec

__all__ = ["CallLog", "ExecutedLog", "LogEntry", "ToolBackend", "UserAct", "WrapperBackend"]


class ToolBackend(Protocol):
    """Something that runs tool calls.

    A call never raises for what the agent did: an unknown tool or a bad argument comes back as a
    result with ``is_error``. ``InfrastructureError`` is the one exception that may leave it.
    """

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools that can be called."""

    @property
    def revision(self) -> int:
        """A number that rises whenever a call really changed the state."""

    def call(self, call: ToolCall) -> ToolResult:
        """Run one call and return its result."""


class WrapperBackend:
    """A backend around another; subclasses override :meth:`call`."""

    def __init__(self, inner: ToolBackend) -> None:
        self.inner = inner

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools of the wrapped backend."""
        return self.inner.tools

    @property
    def revision(self) -> int:
        """The revision of the wrapped backend."""
        return self.inner.revision

    def call(self, call: ToolCall) -> ToolResult:
        """Pass the call on."""
        return self.inner.call(call)


class LogEntry(NamedTuple):
    """One call, its result, and (in an executed log) whether it changed the state."""

    call: ToolCall
    result: ToolResult
    changed: bool = False


class UserAct(LogEntry):
    """An entry of an executed log that the user made, with a tool of the user's own."""

    __slots__ = ()


class CallLog(WrapperBackend):
    """Keeps every call that passes and its result.

    The episode stack has two logs that are never mixed: outermost this one, the *observed* log
    (what the agent saw), innermost an :class:`ExecutedLog`. A blocked or rejected call is in the
    observed log only.
    """

    def __init__(self, inner: ToolBackend) -> None:
        super().__init__(inner)
        self.entries: list[LogEntry] = []

    def call(self, call: ToolCall) -> ToolResult:
        """Pass the call on and keep it with its result."""
        result = self.inner.call(call)
        self.entries.append(LogEntry(call, result))
        return result


class ExecutedLog(CallLog):
    """The log of what really ran, with the true result, and whether it changed the state."""

    def call(self, call: ToolCall) -> ToolResult:
        """Pass the call on and keep it with its result and effect."""
        inner = self.inner
        before = inner.revision
        result = inner.call(call)
        self.entries.append(LogEntry(call, result, inner.revision != before))
        return result
