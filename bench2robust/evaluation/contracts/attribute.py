"""Which layer a silent failure belongs to, before anybody decides what to fix.

Deterministic triage of what contracts found in a stream of calls:

* ``schema``: fields missing, unexpected or of another type, for several callers;
* ``tool_logic``: wrong values (domain, sign, echo, relation) in results of the usual shape;
* ``prompt``: arguments that break the tool's own parameter schema, tools that do not exist, and
  echoes that differ on such calls;
* ``workflow``: loops, flagged results that nobody looked at again, claims that nothing bears out;
* ``contract``: what the golden set breaks too, so the contract is wrong and not the tool.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from bench2robust.core.canonical import canonical
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.contracts.firing import Firings, Place, bounded, place_of
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.declared import declared_contract
from bench2robust.monitors.done import Verdict
from bench2robust.monitors.loop_guard import LoopDetector
from bench2robust.monitors.sources import DeclaredTool, Sample
from bench2robust.monitors.violation import Violation

__all__ = ["Attribution", "Layer", "Triage"]

Layer: TypeAlias = Literal["schema", "tool_logic", "prompt", "workflow", "contract"]
_SHAPE = {"missing_learned_field", "unexpected_field", "learned_type_mismatch"}
_ECHO = "learned_echo_mismatch"
CALLERS = 3
"""Callers for whom a field must have changed before the schema is said to have."""
_MOST_SESSIONS = 10_000
"""Sessions whose latest calls are remembered; the one that was silent longest is forgotten."""
_MOST_CALLERS = 1_000

FIXES: dict[Layer, str] = {
    "schema": "Publish the changed shape in the tool's schema, then mine again and read "
    "`contracts diff`.",
    "tool_logic": "Mend the tool: the shape is right and a value is wrong. Keep the invariant as "
    "a test of the tool.",
    "prompt": "Narrow the parameter schema (enum, format, range) or its description: see "
    "`contracts promote`.",
    "workflow": "Add what the harness lacks: a loop guard, a look at flagged results, a check of "
    "what is said to be done.",
    "contract": "The contract is stale: relax it as `contracts golden` proposes.",
}


class Attribution(NamedTuple):
    """One finding.

    Attributes:
        samples: calls that show it.
        callers: sessions that it was seen in, up to 1,000.
        evidence: one example, in words.
        fix: what kind of repair it calls for.
    """

    layer: Layer
    tool: str
    what: str
    samples: int
    callers: int
    evidence: str
    fix: str


@dataclass(slots=True)
class _Finding:
    samples: int = 0
    callers: set[str] = field(default_factory=set)
    evidence: str = ""


@dataclass(slots=True)
class _Session:
    loops: LoopDetector = field(default_factory=LoopDetector)
    flagged: tuple[Sample, Violation] | None = None


class Triage:
    """Takes calls in the order of each session, and sorts what is wrong with them into layers.

    Args:
        contract: what results must keep.
        tools: what tools declare about their parameters; without it nothing is said of arguments.
        golden: what fired on a golden set.
    """

    def __init__(
        self, contract: Contract, tools: Iterable[DeclaredTool] = (), golden: Firings | None = None
    ) -> None:
        declared = [tool._replace(output=tool.parameters) for tool in tools]
        self._contract = contract
        self._checker = Checker(contract)
        self._arguments = Checker(declared_contract(declared))
        self._tools = {tool.name for tool in declared}
        self._stale = set(golden.places) if golden else set()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._found: dict[tuple[Layer, str, str], _Finding] = {}
        self.calls: Counter[str] = Counter()

    def see(self, session: str, sample: Sample, error: bool = False) -> None:
        """Take one call and what its caller saw.

        Args:
            error: the result says by itself that it is an error.
        """
        self.calls[bounded(self.calls, sample.tool)] += 1
        state = self._session(session)
        bad_arguments = self._look_at_arguments(session, sample)
        violations: tuple[Violation, ...] = ()
        if not error:
            violations = self._checker.check_value(sample.tool, sample.arguments, sample.response)
        for violation in violations:
            self._sort(session, sample, violation, bad_arguments)
        self._look_at_flow(session, state, sample, violations)

    def claim(self, session: str, verdict: Verdict) -> None:
        """Take the check of what a session says it has done."""
        if verdict.supported:
            return
        if not verdict.writes:
            self._add("workflow", "", "success claimed, nothing written", session, "")
        for write in verdict.writes:
            if write.standing != "verified":
                what = f"success claimed, write {write.standing}"
                self._add("workflow", write.call.name, what, session, write.reason)

    def _session(self, name: str) -> _Session:
        state = self._sessions.pop(name, None) or _Session()
        self._sessions[name] = state
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return state

    def _look_at_arguments(self, session: str, sample: Sample) -> bool:
        if self._tools and sample.tool not in self._tools:
            self._add("prompt", "", "no such tool", session, f"called {sample.tool[:100]!r}")
            return True
        broken = self._arguments.check_value(sample.tool, {}, sample.arguments)
        for violation in broken:
            place = place_of(self._arguments.contract, sample.tool, violation)
            what = f"argument {place[2]}: {violation.code}"
            self._add("prompt", sample.tool, what, session, _told(violation))
        return bool(broken)

    def _sort(
        self, session: str, sample: Sample, violation: Violation, bad_arguments: bool
    ) -> None:
        place = place_of(self._contract, sample.tool, violation)
        layer: Layer = "schema" if violation.code in _SHAPE else "tool_logic"
        if place in self._stale:
            layer = "contract"
        elif violation.code == _ECHO and bad_arguments:
            layer = "prompt"
        self._add(layer, sample.tool, _named(place), session, _told(violation))

    def _look_at_flow(
        self, session: str, state: _Session, sample: Sample, violations: tuple[Violation, ...]
    ) -> None:
        call = ToolCall(sample.tool, sample.arguments)
        loop = state.loops.see(call, ToolResult(""))
        if loop is not None:
            self._add("workflow", sample.tool, f"loop ({loop.kind})", session, loop.text())
        if state.flagged is not None and not _looks_again(sample, state.flagged[0]):
            flagged, violation = state.flagged
            what = "flagged result used without another look"
            evidence = f"{_told(violation)}; next came {sample.tool}"
            self._add("workflow", flagged.tool, what, session, evidence)
        state.flagged = (sample, violations[0]) if violations else None

    def _add(self, layer: Layer, tool: str, what: str, session: str, evidence: str) -> None:
        found = self._found.setdefault((layer, tool, what), _Finding())
        found.samples += 1
        if len(found.callers) < _MOST_CALLERS:
            found.callers.add(session)
        found.evidence = found.evidence or evidence

    def findings(self) -> list[Attribution]:
        """Return what was found, most samples first.

        A shape that is new to fewer than ``CALLERS`` callers is the tool's doing, not the schema's.
        """
        rows = []
        for (layer, tool, what), found in self._found.items():
            few = layer == "schema" and len(found.callers) < CALLERS
            told: Layer = "tool_logic" if few else layer
            callers = len(found.callers)
            row = Attribution(told, tool, what, found.samples, callers, found.evidence, FIXES[told])
            rows.append(row)
        return sorted(rows, key=lambda row: (-row.samples, row.layer, row.tool, row.what))


def _named(place: Place) -> str:
    return f"{place[1]} at {place[2] or 'the whole result'}"


def _told(violation: Violation) -> str:
    observed = canonical(violation.observed)
    return f"{violation.detail}; observed {observed[:100]}"


def _looks_again(after: Sample, flagged: Sample) -> bool:
    """Whether a call asks about the same thing: the same tool, or an argument value shared."""
    if after.tool == flagged.tool:
        return True
    values = {canonical(v) for v in flagged.arguments.values()}
    return not values.isdisjoint(canonical(v) for v in after.arguments.values())
