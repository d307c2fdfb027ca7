"""What stands between an agent and its tools, in two phases: before a call is run, and after.

Between a client and a server, and around asynchronous tools, a result comes later than its call
and others in between. So a seam never calls anything itself: whoever carries the calls asks it
first (:meth:`Seam.before`) and shows it what came back (:meth:`Seam.after`). Both phases are those
of the wrappers of an environment: the same machine of faults, monitor and loop guard.
"""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Self

from bench2robust.core.canonical import Json
from bench2robust.core.errors import UsageError, nearest, shown
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.events import FaultEvent
from bench2robust.injectors.machine import FaultMachine, FaultPlan
from bench2robust.injectors.profiles import load_profile
from bench2robust.monitors.arms import ARMS, Watcher, make_arm
from bench2robust.monitors.ledger import Check
from bench2robust.monitors.loop_guard import LoopGuard, LoopRule
from bench2robust.monitors.monitor import OutcomeMonitor
from bench2robust.monitors.receipts import Wording, receipt, receipt_text
from bench2robust.monitors.recovery import Substitutes
from bench2robust.seams.episode import MonitorName, episode_record
from bench2robust.seams.leftover import close_leftovers
from bench2robust.seams.options import FaultSource
from bench2robust.seams.passage import Delivery, Passage
from bench2robust.seams.recording import Recorder, Row
from bench2robust.seams.redact import Redaction
from bench2robust.seams.replay import repeated
from bench2robust.seams.specs import Tool, unknown_tool
from bench2robust.seams.watch import ContractSource, Watch

__all__ = ["ARM", "WORDING", "Seam"]

ARM = "advisory"
"""What is done about a result that breaks the contract, unless somebody says otherwise."""

WORDING = Wording("the known contract of this tool")
KEPT = 10_000
"""Rows of the ledger that a seam keeps; a record keeps them all."""


class Seam:
    """Faults, monitor and loop guard between an agent and tools that others run.

    It may be used from several threads, and calls may overlap. A fault that waits for a result
    counts against the budget from its first phase on, and no longer if it then cannot change the
    result; else what a call meets does not depend on when others are answered.

    Args:
        tools: what is known of the tools so far; :meth:`learn` tells it more. As long as no tool
            is known every name counts as one, from then on only the known ones.

    Raises:
        UsageError: an option is wrong; the text says how to mend it.

    Attributes:
        plan: the fault plan.
        calls: how many calls began.
        delivered: how many faults were delivered.
        receipts: how many receipts were attached.
        ledger: the latest rows of the fault ledger, in the order of their answers.
        leftovers: a sentence on each episode whose program was killed, found beside the record.
    """

    def __init__(
        self,
        tools: Iterable[Tool | ToolSpec] = (),
        *,
        faults: FaultSource = "none",
        seed: int = 0,
        task: str = "",
        blocked: Collection[str] = (),
        contract: ContractSource | None = None,
        arm: str = ARM,
        substitutes: Substitutes | None = None,
        loop: LoopRule | None = None,
        cap: int | None = None,
        record: str | Path | None = None,
        redact: Sequence[str] = (),
        replay: str | Path | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.plan = FaultPlan(seed, task, load_profile(faults), frozenset(blocked))
        if replay is not None:
            self.plan = _repeated(Path(replay), self.plan)
        self.calls = self.delivered = self.receipts = 0
        self.ledger: list[FaultEvent] = []
        self._tools = _Toolbox()
        self._machine = FaultMachine(self.plan, self._tools.find, clock)
        self._watch = Watch(contract) if contract is not None else None
        self._arm, self._substitutes = arm, substitutes or {}
        self._monitor = _monitor(self._watch, arm, self._tools, self._substitutes)
        self._guard = _guard(loop, cap, self._tools)
        self._lock = Lock()
        rules = Redaction(redact)
        self.leftovers = close_leftovers(Path(record)) if record is not None else []
        self._recorder = Recorder(Path(record), rules) if record is not None else None
        if self._recorder is not None:
            atexit.register(self.close)  # who forgets to close it has a record all the same
        self.learn(tools)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that are known."""
        return tuple(self._tools.tools)

    def learn(self, tools: Iterable[Tool | ToolSpec]) -> None:
        """Take note of tools, or of what became of them; says so if the plan names others."""
        with self._lock:
            for given in tools:
                tool = given if isinstance(given, Tool) else Tool(given, {})
                self._tools.put(tool.spec)
                self._machine.renew(tool.spec)
                if self._watch is not None:
                    self._watch.learn(tool)
            if self._recorder is not None:
                self._recorder.about(self._about())

    def strangers(self) -> list[str]:
        """Return a sentence on each tool that the plan names and nobody lists."""
        known = [spec.name for spec in self._tools.tools]
        named = {*self.plan.profile.named_tools(), *self.plan.blocked}
        return [_stranger(name, known) for name in sorted(named - {*known})]

    def warn_of_strangers(self) -> None:
        """Warn of each tool that the plan names and nobody lists."""
        for text in self.strangers():
            warnings.warn(text, stacklevel=2)

    def before(self, call: ToolCall) -> Passage:
        """Begin a call: its ``answer`` says what the agent gets, or None that it is to be run."""
        with self._lock:
            passage = Passage(call, self.calls)
            self.calls += 1
            if self._recorder is not None:
                self._recorder.begin(passage.index, call)
            refusal = self._guard.refuse() if self._guard is not None else None
            if refusal is not None:
                passage.answer = self._record(passage, None, Delivery(*refusal, refusal.content))
                return passage
            passage.fault = pending = self._machine.before(call)
            if pending is not None and pending.answer is not None:
                passage.answer = self._finish(passage, None, pending.answer)
            return passage

    def after(self, passage: Passage, result: ToolResult, opaque: bool = False) -> Delivery:
        """Return what the agent gets of a call that was run, given its true result.

        Args:
            opaque: the text only describes what the tool returned, and that cannot be made of
                another text: a silent fault, which would change it, counts as clean.
        """
        with self._lock:
            pending = passage.fault
            if opaque and pending is not None:
                pending.pass_silently()
            shown = result if pending is None else self._machine.after(pending, result)
            return self._finish(passage, result, shown)

    def drop(self, passage: Passage) -> None:
        """Forget a call that will have no result: it was cancelled, or its tool broke down."""
        with self._lock:
            if passage.fault is not None:
                self._machine.drop(passage.fault)

    def close(self, success: bool | None = None, agent: str = "agent") -> None:
        """End the episode: with ``record``, write it down. Closing again does nothing.

        An episode without a call is none, and is not written.

        Args:
            success: whether the task succeeded; None if nobody says so, and then nothing counts
                the episode as a failure.
            agent: what the record calls the agent.
        """
        with self._lock:
            recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        atexit.unregister(self.close)
        if not self.calls:
            recorder.discard()
        else:
            recorder.close(
                episode_record(
                    recorder.rows(),
                    self.plan,
                    self._tools.tools,
                    self._substitutes,
                    self._named_monitor(),
                    agent=agent,
                    success=success,
                    redacted=recorder.redacted,
                )
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _finish(self, passage: Passage, true: ToolResult | None, shown: ToolResult) -> Delivery:
        event = passage.fault.event if passage.fault is not None else None
        if event is not None:
            self._note(event)
        said, check = shown, None
        notes: tuple[str, ...] = ()
        structured: dict[str, Json] | None = None
        if self._monitor is not None:
            said = self._monitor.look(passage.call, shown)
            check = self._monitor.checks.pop()  # a seam may stand for months: nothing piles up
            if check.warned:
                structured, notes = self._receipt(check)
        if self._guard is not None:
            said = self._guard.look(passage.call, said)
            while self._guard.loops:
                notes = (*notes, self._guard.loops.pop().advice())
        content, is_error = shown
        return self._record(
            passage,
            true,
            Delivery(content, is_error, said.content, event, check, structured, notes),
        )

    def _record(self, passage: Passage, true: ToolResult | None, got: Delivery) -> Delivery:
        recorder, pending = self._recorder, passage.fault
        if recorder is not None:
            more: Row = {"loop": len(got.notes) > (got.receipt is not None)}
            if got.check is not None:
                more |= recorder.check(got.check)
            if got.event is not None:
                more |= recorder.fault(got.event)
                if got.event.changes and pending is not None and true is not None:
                    shown = ToolResult(got.content)
                    more |= recorder.silent(pending.spec, passage.call, true, shown, got.event)
            recorder.end(passage.index, ToolResult(got.spoken, got.is_error), more)
        return got

    def _named_monitor(self) -> MonitorName | None:
        if self._watch is None:
            return None
        return MonitorName(self._arm, self._watch.contract.sha256, ARMS[self._arm].envelope)

    def _about(self) -> Row:
        """Return what a record of this episode needs beside the calls."""
        return {
            "seed": self.plan.seed,
            "task": self.plan.task_id,
            "faults": self.plan.profile.model_dump(),
            "blocked": sorted(self.plan.blocked),
            "tools": {spec.name: spec.kind for spec in self._tools.tools},
            "substitutes": {name: list(mates) for name, mates in self._substitutes.items()},
            "monitor": self._named_monitor(),
        }

    def _receipt(self, check: Check) -> tuple[dict[str, Json], tuple[str, ...]]:
        self.receipts += 1
        tool, found, envelope = check.call.name, check.violations, ARMS[self._arm].envelope
        return (
            receipt(envelope, tool, found, check.recovery),
            (receipt_text(envelope, tool, found, WORDING),),
        )

    def _note(self, event: FaultEvent) -> None:
        self.delivered += event.delivered is not None
        self._machine.events.clear()
        self.ledger.append(event)
        if len(self.ledger) >= 2 * KEPT:
            del self.ledger[:KEPT]


class _Toolbox:
    """The tools behind a seam, as a backend that the wrappers read and never call."""

    revision = 0

    def __init__(self) -> None:
        self.tools: list[ToolSpec] = []
        self._by_name: dict[str, ToolSpec] = {}

    def put(self, spec: ToolSpec) -> None:
        self._by_name[spec.name] = spec
        self.tools = list(self._by_name.values())

    def find(self, name: str) -> ToolSpec | None:
        return self._by_name.get(name) if self._by_name else unknown_tool(name)

    def call(self, call: ToolCall) -> ToolResult:
        raise AssertionError("whoever carries the calls runs them, not the seam")


def _monitor(
    watch: Watch | None, arm: str, tools: _Toolbox, substitutes: Substitutes
) -> OutcomeMonitor | None:
    if watch is None:
        if arm != ARM:
            raise UsageError(f"arm {shown(arm)}: there is nothing to check without a contract: "
                             "give contract, or leave arm out.")  # fmt: skip
        return None
    if arm in ARMS and ARMS[arm].verifies:
        raise UsageError(f"arm {arm!r} calls tools itself, which a seam cannot: choose another.")
    made: Watcher = make_arm(arm, tools, watch, substitutes, WORDING)
    assert isinstance(made, OutcomeMonitor)
    return made


def _guard(loop: LoopRule | None, cap: int | None, tools: _Toolbox) -> LoopGuard | None:
    return LoopGuard(tools, loop, cap) if (loop, cap) != (None, None) else None


def _repeated(path: Path, given: FaultPlan) -> FaultPlan:
    if given != FaultPlan(0, "", load_profile("none")):
        raise UsageError(
            "replay: faults, seed, task and blocked are those of the recorded episode; leave them "
            "out, or leave replay out."
        )
    return repeated(path)


def _stranger(name: str, known: list[str]) -> str:
    close = nearest(name, known)
    hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    listed = ", ".join(sorted(known)[:12]) or "none"
    return f"The fault plan names the tool {name!r}, which is not there. {hint}Known: {listed}."
