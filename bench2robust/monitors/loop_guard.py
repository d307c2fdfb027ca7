"""The loop guard: an agent that repeats itself gets a word about it, and in the end is stopped.

A wrong result that keeps coming back makes a pattern that shows without any contract: the same
call again and again, or a short round of calls repeated.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

from bench2robust.core.backend import ToolBackend, WrapperBackend
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall, ToolResult

__all__ = ["Loop", "LoopDetector", "LoopGuard", "LoopRule", "without_advice"]

_MARK = "[LOOP ADVISORY] "


@dataclass(frozen=True, slots=True)
class LoopRule:
    """When calls count as a loop.

    Attributes:
        window: how many of the latest calls are looked at.
        repeats: how often one call among them is a loop.
        period: the longest round of calls that is a loop once it was made twice in a row.
        results: a call counts as the same only if its result is too ("no new information"), so
            that waiting for a state to change is no loop.

    Raises:
        UsageError: a number is too small, or the window too short to see what it must.
    """

    window: int = 12
    repeats: int = 3
    period: int = 4
    results: bool = False

    def __post_init__(self) -> None:
        if self.repeats < 2 or self.period < 1 or self.window < max(self.repeats, 2 * self.period):
            raise UsageError(
                f"window {self.window}, repeats {self.repeats}, period {self.period}: repeats must "
                "be 2 or more, period 1 or more, and the window hold repeats and twice the period."
            )


class Loop(NamedTuple):
    """A loop that a call closed.

    Attributes:
        step: the call's position in the episode, from 0.
        kind: ``repeat`` (one call too often) or ``cycle`` (a round of calls made twice).
        size: how often the call is in the window; the length of the round.
    """

    step: int
    kind: Literal["repeat", "cycle"]
    tool: str
    size: int

    def text(self) -> str:
        """Return the loop in words."""
        if self.kind == "repeat":
            return f"'{self.tool}' was called {self.size} times with the same arguments"
        return f"the same {self.size} calls, ending with '{self.tool}', were made twice in a row"

    def advice(self) -> str:
        """Return the nonbinding word that an agent gets on the loop."""
        text = self.text()
        return (
            f"{_MARK}{text[:1].upper()}{text[1:]}. Calling it again will probably bring "
            "nothing new. This advisory is nonbinding. All actions remain available."
        )


class LoopDetector:
    """Looks at one episode's calls in order; memory is the window."""

    def __init__(self, rule: LoopRule = LoopRule()) -> None:
        self.rule = rule
        self._recent: deque[bytes] = deque(maxlen=rule.window)
        self._steps = 0

    def see(self, call: ToolCall, result: ToolResult) -> Loop | None:
        """Return the loop that this call closes, if any."""
        step, self._steps = self._steps, self._steps + 1
        key = _key(call, result.content if self.rule.results else "")
        self._recent.append(key)
        times = self._recent.count(key)
        if times >= self.rule.repeats:
            return Loop(step, "repeat", call.name, times)
        length = self._cycle()
        return Loop(step, "cycle", call.name, length) if length else None

    def _cycle(self) -> int:
        """Return the length of the shortest round of different calls just made twice, or 0."""
        recent = list(self._recent)
        for length in range(2, self.rule.period + 1):
            last = recent[-length:]
            if recent[-2 * length : -length] == last and len(Counter(last)) > 1:
                return length
        return 0


def _key(call: ToolCall, content: str) -> bytes:
    text = "\0".join((call.name, canonical(call.arguments), content))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def advise(result: ToolResult, loop: Loop) -> ToolResult:
    """Return a result with a nonbinding word on the loop after it; the raw text is kept."""
    return ToolResult(f"{result.content}\n\n{loop.advice()}", result.is_error)


def without_advice(content: str) -> str:
    """Return a result without the word that :func:`advise` put after it."""
    at = content.rfind(f"\n\n{_MARK}")
    return content if at < 0 else content[:at]


class LoopGuard(WrapperBackend):
    """Watches the calls of one episode.

    Args:
        rule: what a loop is; None for no look at loops.
        cap: the hard limit on calls; those beyond it do not run. None for no limit.
        tell: what an agent gets in place of the result of a call that closes a loop.

    Attributes:
        loops: what was found, in order.
        refused: calls that the cap turned away.
    """

    def __init__(
        self,
        inner: ToolBackend,
        rule: LoopRule | None = LoopRule(),
        cap: int | None = None,
        tell: Callable[[ToolResult, Loop], ToolResult] = advise,
    ) -> None:
        if cap is not None and cap < 1:
            raise UsageError(f"cap {cap}: give 1 or more calls, or None for no limit.")
        super().__init__(inner)
        self.loops: list[Loop] = []
        self.refused = 0
        self._detector = LoopDetector(rule) if rule is not None else None
        self._cap = cap
        self._tell = tell
        self._made = 0

    def call(self, call: ToolCall) -> ToolResult:
        """Pass the call on, unless the cap is reached, and say so if it closes a loop."""
        refusal = self.refuse()
        return refusal if refusal is not None else self.look(call, self.inner.call(call))

    def refuse(self) -> ToolResult | None:
        """Count a call; return what it gets if the cap is reached, else None: let it run."""
        if self._cap is not None and self._made >= self._cap:
            self.refused += 1
            return ToolResult(f"Error: the limit of {self._cap} tool calls is reached.", True)
        self._made += 1
        return None

    def look(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result of a call that was run, with a word if the call closes a loop."""
        loop = self._detector.see(call, result) if self._detector is not None else None
        if loop is None:
            return result
        self.loops.append(loop)
        return self._tell(result, loop)
