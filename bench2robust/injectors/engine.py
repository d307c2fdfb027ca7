"""The wrapper that puts faults between an agent and its tools, one call after the other."""

from __future__ import annotations

from functools import partial

from bench2robust.core.backend import ToolBackend, WrapperBackend
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.machine import FaultMachine, FaultPlan

__all__ = ["FaultInjector", "FaultPlan"]


class FaultInjector(FaultMachine, WrapperBackend):
    """Delivers the faults of a plan (Algorithm 1): both phases of the machine around a backend."""

    def __init__(self, inner: ToolBackend, plan: FaultPlan) -> None:
        WrapperBackend.__init__(self, inner)
        # Not a method of its own: that cycle would keep every episode until it is collected.
        FaultMachine.__init__(self, plan, partial(_find, inner))

    def call(self, call: ToolCall) -> ToolResult:
        """Run the call, or deliver the fault that the plan holds for it."""
        pending = self.before(call)
        if pending is None:
            return self.inner.call(call)
        if pending.answer is not None:
            return pending.answer
        return self.after(pending, self.inner.call(call))


def _find(inner: ToolBackend, name: str) -> ToolSpec | None:
    for spec in inner.tools:  # a generator would cost a microsecond more
        if spec.name == name:
            return spec
    return None
