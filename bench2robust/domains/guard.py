"""The guard around foreign tools: whatever one does becomes a result, or one clear error.

What a tool does with an agent's call is data: an exception, bytes that are no text, NaN, a result
of five megabytes become an error result that says so. What depends on the machine is not: a call
that does not end raises ``InfrastructureError``, for the clock must not decide what an agent sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import orjson

from bench2robust.core.canonical import MAX_DEPTH, MAX_TEXT, is_deep
from bench2robust.core.errors import Bench2RobustError, DataError, InfrastructureError
from bench2robust.core.paths import leaves, show
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.deadline import OverdueError, within
from bench2robust.domains.refusing import encodable, refusal

__all__ = ["SECONDS", "ForeignSession", "GuardedSession", "guarded", "reading"]

SECONDS = 30.0
"""How long a tool may take, in seconds."""


class ForeignSession(Protocol):
    """One episode's state in a benchmark of somebody else, before anything is made safe."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools that can be called."""

    @property
    def revision(self) -> int:
        """A number that rises whenever a call really changed the state."""

    def run(self, call: ToolCall) -> object:
        """Run one call; returns text, bytes or a JSON value, and may raise anything."""

    def delta(self) -> Mapping[str, str]:
        """Return what differs from the start: record key to its canonical JSON text."""


class GuardedSession:
    """A session that keeps the promises of :class:`~bench2robust.core.domain.Session`.

    Calls of unknown tools, and arguments that are no JSON object, never reach the foreign one.

    Args:
        inner: the foreign session; it stays reachable for the verdict.
        seconds: how long one call may take.
    """

    __slots__ = ("_names", "_seconds", "inner")

    def __init__(self, inner: ForeignSession, seconds: float = SECONDS) -> None:
        self.inner = inner
        self._seconds = seconds
        self._names = frozenset(spec.name for spec in inner.tools)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools of the foreign session."""
        return self.inner.tools

    @property
    def revision(self) -> int:
        """A number that rises whenever a call really changed the state."""
        return self.inner.revision

    def call(self, call: ToolCall) -> ToolResult:
        """Run one call.

        Raises:
            InfrastructureError: it did not end in time, or memory ran out.
        """
        problem = self._problem(call)
        if problem:
            return refusal(problem)
        return guarded(lambda: self.inner.run(call), call.name, self._seconds)

    def delta(self) -> Mapping[str, str]:
        """Return what differs from the start."""
        return self.inner.delta()

    def _problem(self, call: ToolCall) -> str:
        name, arguments = call
        if not isinstance(name, str) or name not in self._names:
            return f"Tool '{name}' not found."
        if not isinstance(arguments, dict):
            return "Arguments must be a JSON object."
        try:  # also refuses lone surrogates and numbers of thousands of digits
            size = len(orjson.dumps(arguments))
        except (TypeError, ValueError, RecursionError):
            return "Arguments must be a JSON object of plain values."
        if size > MAX_TEXT or is_deep(arguments):
            return "Arguments are too long or too deeply nested."
        return ""


def guarded(run: Callable[[], object], tool: str, seconds: float = SECONDS) -> ToolResult:
    """Run a foreign tool and return what it gives as a result.

    Text stays as it is; other JSON values are written as compact JSON. A tool that returns a
    ``ToolResult`` keeps its error mark.

    Raises:
        InfrastructureError: it did not end within ``seconds``, or memory ran out.
    """
    try:
        value = within(seconds, run)
    except OverdueError:
        raise InfrastructureError(
            f"The tool {tool} did not answer within {seconds:g} s: the episode cannot go on. "
            f"It is played again, or left out of the results."
        ) from None
    except MemoryError as error:
        raise InfrastructureError(f"The tool {tool} ran out of memory.") from error
    except Bench2RobustError:
        raise
    except Exception as error:
        return refusal(str(error) or type(error).__name__)
    return _result(value, tool)


def _result(value: object, tool: str) -> ToolResult:
    marked = isinstance(value, ToolResult) and value.is_error
    if isinstance(value, ToolResult):
        value = value.content
    try:
        text = _text(value)
    except (TypeError, ValueError, RecursionError) as error:
        return refusal(f"The result of {tool} cannot be shown: {error}.")
    if len(text) > MAX_TEXT:
        return refusal(
            f"The result of {tool} is too long: {len(text)} characters, at most {MAX_TEXT} are "
            "shown."
        )
    return ToolResult(text, marked)


def _text(value: object) -> str:
    """Return a tool's result as text. Raises ``ValueError`` or ``TypeError`` if there is none."""
    if isinstance(value, str):
        return value if value.isascii() else encodable(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decoded(bytes(value))
    if is_deep(value):
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    text = orjson.dumps(value).decode()
    # orjson writes NaN and infinities as null; only then is the slow look needed.
    if "null" in text:
        for path, leaf in leaves(value):
            if isinstance(leaf, float) and not math.isfinite(leaf):
                raise ValueError(f"{show(path)} is {leaf}, which is no JSON number")
    return text


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError(f"it is {len(value)} bytes that are not UTF-8 text") from None


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong while foreign data are read into one clear error.

    Args:
        what: what is read, as the error text calls it, such as a file.

    Raises:
        DataError: anything was raised that is no error of this package already.
    """
    try:
        yield
    except (Bench2RobustError, MemoryError):
        raise
    except Exception as error:
        brief = str(error).strip().splitlines()[:1]
        told = f": {brief[0][:300]}" if brief else ""
        raise DataError(f"{what} cannot be read ({type(error).__name__}{told})") from error
