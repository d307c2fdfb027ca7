"""Algorithm 1: the wrapper that puts faults between an agent and its tools.

One deviation from the paper: a blocked call is not executed. The algorithm computes o* before it
tests for a block, but a blocked write that commits would make S3 solvable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench2robust.core.backend import ToolBackend, WrapperBackend
from bench2robust.core.faults import PERSISTENT
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.paths import Path
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.distribution import Law
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.injectors.kernels import Context, Corruption, Kernel, get_kernel
from bench2robust.injectors.profile import FaultProfile

__all__ = ["FaultInjector", "FaultPlan"]

_NOTHING = Corruption("", False)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Everything that decides the faults of one episode.

    Attributes:
        seed: the episode's seed.
        task_id: the episode's task.
        profile: the stochastic faults.
        blocked: tools that never answer in this episode.
        first_called: pairs of sides of which the one whose tool is called first is blocked, from
            that call on.
        needed: tool to the paths of its results that the task reads; silent kernels corrupt
            these. For a tool that is absent every decision-critical field counts.
    """

    seed: int
    task_id: str
    profile: FaultProfile
    blocked: frozenset[str] = frozenset()
    first_called: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    needed: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Tool:
    """One tool in this episode.

    Attributes:
        spec: None for what is never faulted: an unknown name, or a tool that is not faultable.
        law: how its faults are drawn.
        refusal: the one answer of a blocked tool, and its fault type.
        calls: how often it was called.
        streak: stochastic faults delivered since its last clean response.
    """

    spec: ToolSpec | None
    law: Law
    refusal: tuple[str, Corruption] | None = None
    calls: int = 0
    streak: int = 0


class FaultInjector(WrapperBackend):
    """Delivers the faults of a plan (Algorithm 1).

    Attributes:
        plan: the plan.
        events: every call at which a fault was planned, in order.
        last: the event of the most recent call; None if none was planned for it.
        calls: how many calls reached the injector.
        spent: stochastic faults delivered so far, at most the profile's budget.
    """

    def __init__(self, inner: ToolBackend, plan: FaultPlan) -> None:
        super().__init__(inner)
        self.plan = plan
        self.events: list[FaultEvent] = []
        self.last: FaultEvent | None = None
        self.calls = 0
        self.spent = 0
        self._blocked = plan.blocked
        self._undecided = plan.first_called
        self._tools: dict[str, _Tool] = {}

    @property
    def blocked(self) -> frozenset[str]:
        """The tools blocked so far."""
        return self._blocked

    def call(self, call: ToolCall) -> ToolResult:
        """Run the call, or deliver the fault that the plan holds for it."""
        self.calls += 1
        self.last = None
        tool = self._tools.get(call.name) or self._open(call.name)
        if tool.spec is None:
            return self.inner.call(call)
        nth = tool.calls
        tool.calls = nth + 1
        if tool.refusal is not None:
            return self._refuse(tool.spec, nth, tool.refusal)
        plan = self.plan
        profile = plan.profile
        if self.spent < profile.budget and tool.streak < profile.max_consecutive:
            planned = tool.law.fault(plan.seed, plan.task_id, call.name, nth, call.arguments)
            if planned is not None:
                return self._inject(call, tool, tool.spec, nth, planned)
        tool.streak = 0
        return self.inner.call(call)

    def _open(self, name: str) -> _Tool:
        """Begin the account of a tool at its first call; only here can it become blocked."""
        spec = _find(self.inner.tools, name)
        law = self.plan.profile.law(name)
        tool = _Tool(None, law)
        if spec is not None and spec.faultable:
            self._decide(name)
            tool = _Tool(spec, law, self._refusal(spec) if name in self._blocked else None)
        self._tools[name] = tool
        return tool

    def _decide(self, name: str) -> None:
        for sides in self._undecided:
            side = next((s for s in sides if name in s), None)
            if side is not None:
                self._blocked |= side
                self._undecided = tuple(s for s in self._undecided if s is not sides)

    def _refusal(self, spec: ToolSpec) -> tuple[str, Corruption]:
        """Return the answer that a blocked tool gives to every call of the episode."""
        plan = self.plan
        kind = choose(PERSISTENT, BLOCKED, plan.seed, plan.task_id, spec.name)
        # Neither call nor result may matter: the answer stays the same, whatever is asked.
        ctx = self._context(spec, ToolCall(spec.name, {}), None, BLOCKED)
        corruption = get_kernel(kind).corrupt(ctx)
        assert corruption is not None  # observable kernels of the package always apply
        return kind, corruption

    def _refuse(self, spec: ToolSpec, nth: int, refusal: tuple[str, Corruption]) -> ToolResult:
        kind, corruption = refusal
        self._record(spec, nth, BLOCKED, kind, None, corruption)
        return ToolResult(corruption.content, corruption.is_error)

    def _inject(
        self, call: ToolCall, tool: _Tool, spec: ToolSpec, nth: int, planned: str
    ) -> ToolResult:
        kernel = get_kernel(planned)
        result = None if self._rejects(kernel, spec, nth) else self.inner.call(call)
        corruption = None
        if kernel.observable or (result is not None and not result.is_error):
            corruption = kernel.corrupt(self._context(spec, call, result, nth))
        if corruption is None:
            tool.streak = 0
            result = result if result is not None else self.inner.call(call)
            self._record(spec, nth, planned, None, result, _NOTHING)
            return result
        tool.streak += 1
        self.spent += 1
        self._record(spec, nth, planned, planned, result, corruption)
        return ToolResult(corruption.content, corruption.is_error)

    def _rejects(self, kernel: Kernel, spec: ToolSpec, nth: int) -> bool:
        """Say whether a call is turned away unexecuted: only writes, only by observable faults."""
        if spec.kind != "write" or not kernel.observable:
            return False
        plan = self.plan
        commit = plan.profile.commit_of(kernel.name)
        if commit == "either":
            return uniform("commit", plan.seed, plan.task_id, spec.name, nth) < 0.5
        return commit == "rejected"

    def _context(
        self, spec: ToolSpec, call: ToolCall, result: ToolResult | None, occasion: int | str
    ) -> Context:
        plan = self.plan
        needed = plan.needed.get(spec.name)
        return Context(spec, call, result, needed, plan.seed, plan.task_id, occasion)

    def _record(
        self,
        spec: ToolSpec,
        nth: int,
        planned: str,
        delivered: str | None,
        result: ToolResult | None,
        corruption: Corruption,
    ) -> None:
        self.last = FaultEvent(
            index=self.calls - 1,
            tool=spec.name,
            nth=nth,
            planned=planned,
            delivered=delivered,
            executed=result is not None,
            committed=result is not None and not result.is_error and spec.kind == "write",
            changes=corruption.changes,
            latency=corruption.latency,
            retry_after=corruption.retry_after,
        )
        self.events.append(self.last)


def _find(tools: Sequence[ToolSpec], name: str) -> ToolSpec | None:
    for spec in tools:  # a generator would cost a microsecond more
        if spec.name == name:
            return spec
    return None
