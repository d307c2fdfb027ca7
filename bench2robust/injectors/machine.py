"""Algorithm 1 as a state machine of two phases: before a call is run, and after its result.

An environment runs both at once. Between a client and a server the result comes later, and other
calls in between; so what a fault costs is charged when it is planned, and given back if it then
cannot change the result. One call after the other this is the algorithm to the letter.

One deviation from the paper: a blocked call is not executed. The algorithm computes o* before it
tests for a block, but a blocked write that commits would make S3 solvable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from bench2robust.core.faults import PERSISTENT
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.paths import Path
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.distribution import Law
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.injectors.fields import critical_fields
from bench2robust.injectors.kernels import Context, Corruption, Kernel, get_kernel
from bench2robust.injectors.profile import FaultProfile

__all__ = ["CALL_SECONDS", "FaultMachine", "FaultPlan", "Lookup", "Pending"]

Lookup: TypeAlias = Callable[[str], ToolSpec | None]
"""Finds a tool by its name; None for a name that is no tool."""

CALL_SECONDS = 1.0
"""Simulated seconds that a tool call takes, on top of the latency of its fault."""
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
        fitting: how many calls fitted each of the law's rules; None without any.
    """

    spec: ToolSpec | None
    law: Law
    refusal: tuple[str, Corruption] | None = None
    calls: int = 0
    streak: int = 0
    fitting: list[int] | None = None


@dataclass(slots=True)
class Pending:
    """A call at which a fault is planned, from its first phase to its second.

    Attributes:
        planned: a fault type, or ``blocked``.
        answer: what the agent gets without the call being run; None if it is to be run, and its
            result given to :meth:`FaultMachine.after`.
        event: its row of the ledger; None until the second phase is over.
    """

    call: ToolCall
    index: int
    nth: int
    spec: ToolSpec
    planned: str
    kernel: Kernel | None
    account: _Tool
    charge: int = 0
    answer: ToolResult | None = None
    event: FaultEvent | None = None

    def pass_silently(self) -> None:
        """Give up a silent fault: the result cannot carry it."""
        if self.kernel is not None and not self.kernel.observable:
            self.kernel = None


class FaultMachine:
    """Decides call by call what the agent sees instead of the true result.

    Args:
        plan: the plan.
        lookup: finds the tools; asked once for each name.
        clock: seconds since the start, for scheduled windows; by default simulated ones, a second
            for each call before and the latencies of their faults.

    Attributes:
        events: every call at which a fault was planned, in the order of their answers.
        last: the event of the most recent call; None if none was planned for it.
        calls: how many calls began.
        spent: stochastic faults delivered or under way, at most the profile's budget.
    """

    def __init__(
        self, plan: FaultPlan, lookup: Lookup, clock: Callable[[], float] | None = None
    ) -> None:
        self.plan = plan
        self.events: list[FaultEvent] = []
        self.last: FaultEvent | None = None
        self.calls = 0
        self.spent = 0
        self._lookup = lookup
        self._clock = clock
        self._latency = 0.0
        self._blocked = plan.blocked
        self._undecided = plan.first_called
        self._tools: dict[str, _Tool] = {}

    @property
    def blocked(self) -> frozenset[str]:
        """The tools blocked so far."""
        return self._blocked

    def before(self, call: ToolCall) -> Pending | None:
        """Begin a call: None if it is to be run and its result passed on as it is."""
        index = self.calls
        self.calls = index + 1
        self.last = None
        tool = self._tools.get(call.name) or self._open(call.name)
        if tool.spec is None:
            return None
        nth = tool.calls
        tool.calls = nth + 1
        if tool.refusal is not None:
            return self._refuse(call, index, nth, tool, tool.spec, tool.refusal)
        if tool.fitting is not None:
            scheduled = self._scheduled(tool.law, tool.fitting, call)
            if scheduled is not None:
                return self._begin(call, index, nth, tool, tool.spec, scheduled, 0)
        plan = self.plan
        profile = plan.profile
        if self.spent < profile.budget and tool.streak < profile.max_consecutive:
            planned = tool.law.fault(plan.seed, plan.task_id, call.name, nth, call.arguments)
            if planned is not None:
                return self._begin(call, index, nth, tool, tool.spec, planned, 1)
        tool.streak = 0
        return None

    def after(self, pending: Pending, result: ToolResult) -> ToolResult:
        """Return what the agent sees of a call that was run, given its true result."""
        kernel = pending.kernel
        corruption = None
        if kernel is not None and (kernel.observable or not result.is_error):
            context = self._context(pending.spec, pending.call, result, pending.nth)
            corruption = kernel.corrupt(context)
        if corruption is None:
            self.spent -= pending.charge
            pending.account.streak = 0
            self._record(pending, None, result, _NOTHING)
            return result
        return self._deliver(pending, result, corruption)

    def drop(self, pending: Pending) -> None:
        """Forget a call that will have no result: it was given up, or its tool broke down."""
        self.spent -= pending.charge
        pending.account.streak = max(0, pending.account.streak - pending.charge)

    def renew(self, spec: ToolSpec) -> None:
        """Take note that a tool is now described otherwise; what it has met so far stays."""
        account = self._tools.get(spec.name)
        if account is not None and account.spec is not None:
            account.spec = _written(spec, account.law)
        else:
            self._tools.pop(spec.name, None)  # an unknown name has no account to keep

    def _open(self, name: str) -> _Tool:
        """Begin the account of a tool at its first call; only here can it become blocked."""
        spec = self._lookup(name)
        law = self.plan.profile.law(name)
        tool = _Tool(None, law)
        if spec is not None and spec.faultable:
            spec = _written(spec, law)
            self._decide(name)
            tool = _Tool(spec, law, self._refusal(spec) if name in self._blocked else None)
            if law.rules:
                tool.fitting = [0] * len(law.rules)
        self._tools[name] = tool
        return tool

    def _scheduled(self, law: Law, fitting: list[int], call: ToolCall) -> str | None:
        """Return the fault that the first rule which hits a call has for it, and count the call."""
        plan, found = self.plan, None
        for at, (position, rule) in enumerate(law.rules):
            if rule.fits(call.arguments):
                nth, fitting[at] = fitting[at], fitting[at] + 1
                key = (plan.seed, plan.task_id, call.name, position)
                if found is None and rule.hits(nth, self._now(), key):
                    found = rule.fault
        return found

    def _now(self) -> float:
        """Return the seconds since the start: simulated ones, unless there is a clock."""
        if self._clock is not None:
            return self._clock()
        return (self.calls - 1) * CALL_SECONDS + self._latency

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

    def _refuse(
        self,
        call: ToolCall,
        index: int,
        nth: int,
        tool: _Tool,
        spec: ToolSpec,
        refusal: tuple[str, Corruption],
    ) -> Pending:
        kind, corruption = refusal
        pending = Pending(call, index, nth, spec, BLOCKED, None, tool)
        self._record(pending, kind, None, corruption)
        pending.answer = ToolResult(corruption.content, corruption.is_error)
        return pending

    def _begin(
        self,
        call: ToolCall,
        index: int,
        nth: int,
        tool: _Tool,
        spec: ToolSpec,
        planned: str,
        charge: int,
    ) -> Pending:
        """Charge a fault and, if it turns the call away, deliver it."""
        kernel = get_kernel(planned)
        self.spent += charge
        tool.streak += charge
        pending = Pending(call, index, nth, spec, planned, kernel, tool, charge)
        if self._rejects(kernel, spec, nth):
            corruption = kernel.corrupt(self._context(spec, call, None, nth))
            if corruption is None:  # a kernel of others' that cannot do without a result
                pending.kernel = None
            else:
                pending.answer = self._deliver(pending, None, corruption)
        return pending

    def _deliver(
        self, pending: Pending, result: ToolResult | None, corruption: Corruption
    ) -> ToolResult:
        self._record(pending, pending.planned, result, corruption)
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
        if spec.derived and result is not None:
            spec = replace(spec, fields=critical_fields(spec, result.content))
        return Context(spec, call, result, needed, plan.seed, plan.task_id, occasion)

    def _record(
        self,
        pending: Pending,
        delivered: str | None,
        result: ToolResult | None,
        corruption: Corruption,
    ) -> None:
        spec = pending.spec
        self._latency += corruption.latency
        pending.event = self.last = FaultEvent(
            index=pending.index,
            tool=spec.name,
            nth=pending.nth,
            planned=pending.planned,
            delivered=delivered,
            executed=result is not None,
            committed=result is not None and not result.is_error and spec.kind == "write",
            changes=corruption.changes,
            latency=corruption.latency,
            retry_after=corruption.retry_after,
        )
        self.events.append(pending.event)


def _written(spec: ToolSpec, law: Law) -> ToolSpec:
    """Return a tool with the decision-critical fields that the plan writes down for it."""
    return spec if law.fields is None else replace(spec, fields=law.fields, derived=False)
