"""What a kernel is: a named map from a true result to what the agent sees (equation 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from bench2robust.core.canonical import canonical
from bench2robust.core.keyed import choose, digest, uniform
from bench2robust.core.paths import Path
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.events import Change
from bench2robust.injectors.kernels.relevance import qualifying

__all__ = ["Context", "Corruption", "Kernel"]

T = TypeVar("T")


class Corruption(NamedTuple):
    """What the agent gets instead of the true result.

    Attributes:
        content: the text that the agent sees.
        is_error: whether it is marked as an error.
        changes: for a silent kernel, every field that differs from the true result.
        latency: simulated seconds that the response took on top of a clean one.
        retry_after: seconds that the response asks the caller to wait, if it does.
    """

    content: str
    is_error: bool
    changes: tuple[Change, ...] = ()
    latency: float = 0.0
    retry_after: float | None = None


class Context(NamedTuple):
    """One call to corrupt, and the randomness that a kernel may use: a pure function of keys.

    Attributes:
        spec: the tool called.
        call: the call.
        result: the true result; None if the call did not run (a rejected write, a blocked tool).
        needed: result paths of this tool that the task reads; None if it is not known, and then
            every decision-critical field counts.
        seed: the episode's seed.
        task_id: the episode's task.
        occasion: which call of the tool this is; the same for every call of a blocked tool.
    """

    spec: ToolSpec
    call: ToolCall
    result: ToolResult | None
    needed: tuple[Path, ...] | None
    seed: int
    task_id: str
    occasion: int | str

    @property
    def body(self) -> str:
        """The text of the true result; empty if the call did not run."""
        return self.result.content if self.result is not None else ""

    @property
    def fields(self) -> ResultFields:
        """The decision-critical fields of this tool's result that the task needs."""
        return qualifying(self.spec.fields, self.needed)

    def choose(self, options: Sequence[T], about: str) -> T:
        """Return one of ``options``, fixed for this call and what the choice is ``about``."""
        return choose(options, about, self.seed, self.task_id, self.spec.name, self.occasion)

    def between(self, low: float, high: float, about: str) -> float:
        """Return a number from ``low`` to ``high``, fixed for this call and ``about``."""
        u = uniform(about, self.seed, self.task_id, self.spec.name, self.occasion)
        return low + u * (high - low)

    def value_key(self) -> str:
        """Return a key of (seed, task, tool, canonical arguments), whichever call this is.

        Choices keyed by it and a path make a value that is fetched and corrupted again the same
        wrong value.
        """
        arguments = canonical(self.call.arguments)
        return digest("value", self.seed, self.task_id, self.spec.name, arguments)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A fault type: its name, whether it gives an explicit signal, and what it does.

    Attributes:
        name: the name that profiles and tables use.
        observable: True for an error that the agent can see, False for a silent corruption. A
            silent kernel is asked only about results that are no errors, and its call always runs.
        summary: one line for people.
        corrupt: from a call to what the agent sees, or None if this kernel cannot change this
            result. It must not change anything that it is given.
    """

    name: str
    observable: bool
    summary: str
    corrupt: Callable[[Context], Corruption | None]
