"""A live session: checks a call's arguments, runs the tool on τ²-bench's environment, never raises.

Results are τ²-bench's own texts. Three things differ: arguments are checked first (the package
runs what it is sent, whatever its type), ``calculate`` is worked out without Python's evaluator,
and a call that changes nothing does not count as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bench2robust.core.canonical import canonical
from bench2robust.core.types import ToolCall, ToolKind, ToolResult, ToolSpec
from bench2robust.domains.refusing import refusal
from bench2robust.domains.tau2.arguments import problem
from bench2robust.domains.tau2.state import Live, Start

__all__ = ["Settle", "Tau2Session", "Tool", "Toolset"]

Run = Callable[..., Any]
"""From τ²-bench's environment and the arguments to a result; raises to refuse."""

Settle = Callable[[Any, Any], None]
"""Makes what a call left in an environment the same on every run; the other one is the start."""

_MOST_KEPT = 20_000
_LONGEST_NAME = 200


class Tool(NamedTuple):
    """A tool as it runs.

    Attributes:
        run: what runs.
        kind: only ``write`` may change records.
        schema: of its arguments.
    """

    run: Run
    kind: ToolKind
    schema: Mapping[str, Any]


class Toolset(NamedTuple):
    """The tools of one kind of session; built once and shared.

    Attributes:
        specs: what an agent is shown.
        by_name: what runs, the tools of the user included.
    """

    specs: tuple[ToolSpec, ...]
    by_name: Mapping[str, Tool]
    settle: Settle | None


class Tau2Session:
    """One episode's private state and the tools that act on it."""

    __slots__ = ("_delta", "_hear", "_live", "_revision", "_stale", "_start", "_toolset", "tools")

    def __init__(
        self,
        start: Start,
        toolset: Toolset,
        hear: Callable[[str, Any], Sequence[ToolCall]] | None = None,
    ) -> None:
        self.tools = toolset.specs
        self._toolset = toolset
        self._start = start
        self._hear = hear
        self._live: Live | None = None
        self._delta: dict[str, str] = {}
        self._revision = 0
        self._stale = False

    @property
    def environment(self) -> Any:
        """τ²-bench's environment as it now is; shared, and not to be changed, before a write."""
        return self._start.environment if self._live is None else self._live.environment

    @property
    def revision(self) -> int:
        """A number that rises whenever a call really changed the state since it was last read."""
        self._look()
        return self._revision

    def delta(self) -> dict[str, str]:
        """Return the JSON text of every record that differs from the start, by ``table/key``."""
        self._look()
        return dict(self._delta)

    def _look(self) -> None:
        """Find out what the writes since the last look changed."""
        if self._stale and self._live is not None:
            delta = self._live.delta(self._start)
            self._revision += delta != self._delta
            self._delta = delta
            self._stale = False

    def asked(self, said: str) -> Sequence[ToolCall]:
        """Return the calls that the user makes with their own tools on hearing ``said``."""
        return self._hear(said, self.environment) if self._hear else ()

    def call(self, call: ToolCall) -> ToolResult:
        """Run one call; whatever is wrong with it comes back as an error result."""
        name, arguments = call
        tool = self._toolset.by_name.get(name) if isinstance(name, str) else None
        if tool is None:
            return refusal(f"Tool '{str(name)[:_LONGEST_NAME]}' not found.")
        if tool.kind == "write":
            return self._write(tool, arguments)
        if self._live is not None:
            return self._run(tool, arguments, self._live.environment)
        return self._read(name, tool, arguments)

    def _read(self, name: str, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Read the start, whose results are kept for every episode."""
        key = (name, canonical(arguments))
        kept = self._start.kept
        result = kept.get(key)
        if result is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            result = kept[key] = self._run(tool, arguments, self._start.environment)
        return result

    def _write(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        if self._live is None:
            self._live = self._start.live()
        environment, phase = self._live
        phase.writing = True
        try:
            return self._run(tool, arguments, environment)
        finally:
            if self._toolset.settle is not None:
                self._toolset.settle(environment, self._start.environment)
            phase.writing = False
            self._stale = True

    def _run(self, tool: Tool, arguments: dict[str, Any], environment: Any) -> ToolResult:
        wrong = problem(arguments, tool.schema)
        if wrong:
            return refusal(wrong)
        try:
            result = tool.run(environment, **arguments)
            environment.sync_tools()
            return ToolResult(environment.to_json_str(result))
        except Exception as error:  # a tool refuses by raising, and may raise anything
            return refusal(str(error))
