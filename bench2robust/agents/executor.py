"""Executing a dataflow plan over observations, one recovery decision after each call.

The executor knows how to do each move; which one to make is left to whoever drives it: it yields
a :class:`~bench2robust.agents.moves.Situation` after each call and is sent a ``Move``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from bench2robust.agents.base import Action, Brief, Observation, Say
from bench2robust.agents.moves import Move, Situation
from bench2robust.agents.signals import read_signal
from bench2robust.agents.work import Source, Work, lacks
from bench2robust.core.canonical import Json, canonical, parse_result
from bench2robust.core.dataflow import MissingValueError, Reference, Step, Told, resolve
from bench2robust.core.domain import offered_tools, user_tools
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import MISSING, get, leaves
from bench2robust.core.solvability import analyse, paths_from
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.pointers import pointer
from bench2robust.monitors.receipts import Receipt, open_receipt

__all__ = ["Driven", "PlanExecutor"]

T = TypeVar("T")
Driven: TypeAlias = Generator["Action | Situation", "Observation | Move", T]

CONSULT = (
    "Could you share all the details that I need, and confirm that you would like me to proceed?"
)
NEXT = "What would you like next?"
"""Said to a user with several requests, to hear the next one."""
SUCCESS = "Everything you asked for has been done."
FAILURE = "I could not complete every part of your request."
HANDOVER = "The tools that this request needs do not answer, so I hand it over."
_CONSULTATIONS = 3
_LOOKS = 3
_INDIRECT = frozenset({Move.ASK, Move.SWITCH, Move.VERIFY})
"""Moves that may take more than the next call, or none."""


class PlanExecutor:
    """Works through a task's plan, reading its arguments from what it observed.

    Args:
        brief: the task, what is offered, and the user's first message.
        honest: whether the closing message admits what could not be done.
        heeds: whether a value that a receipt doubts is no reason to refuse a write: the tool
            itself then decides.
    """

    def __init__(self, brief: Brief, honest: bool = True, *, heeds: bool = False) -> None:
        domain = brief.domain
        self._plan = analyse(domain, brief.task).plan
        self._domain = domain
        turns = brief.task.user.turns
        self._converses, self._requests = turns is None, len(turns or ())
        offered = offered_tools(domain, brief.task, brief.alternatives, self._requests)
        self._specs = {spec.name: spec for spec in offered}
        self._by_user = {spec.name for spec in user_tools(domain)}
        self._alternatives = brief.alternatives
        self._honest = honest
        self._heeds = heeds
        self._doubts: dict[int, Receipt] = {}
        self._steps_left = brief.max_steps
        self._results: list[Json] = []
        self._knowledge = Knowledge([brief.opening])
        self._told = brief.opening.lower()
        self._consulted = 0
        self._heard = 0
        self._down: set[str] = set()
        self._refusals: list[str] = []
        self._unfinished = False

    def run(self) -> Driven[None]:
        """Yield actions and situations until the work is done or handed over."""
        for step in self._plan.steps:
            if not (yield from self._perform(step)):
                return
        yield from self._close()

    def _perform(self, step: Step) -> Driven[bool]:
        """Do one step; return False once the user was handed over to a human."""
        try:
            arguments = resolve(dict(step.arguments), self._results)
        except MissingValueError:
            self._skip(step)
            return True
        refusal = self._policy_refusal(step)
        if refusal:
            self._refusals.append(refusal)
            self._skip(step)
            return True
        if step.call.name in self._by_user:
            yield from self._ask_for(ToolCall(step.call.name, arguments))
            return True
        if step.told or step.writes or step.turn:
            yield from self._prepare(step)
        return (yield from self._obtain(step, ToolCall(step.call.name, arguments)))

    def _ask_for(self, call: ToolCall) -> Driven[None]:
        """Ask the user to use a tool of their own; what it shows is no value of the plan."""
        given = ", ".join(f"{name}={canonical(value)}" for name, value in call.arguments.items())
        yield from self._act(Say(f"Please use {call.name}({given}) and tell me what you see."))
        self._results.append(MISSING)

    def _skip(self, step: Step) -> None:
        self._results.append(MISSING)
        self._unfinished |= step.critical

    def _policy_refusal(self, step: Step) -> str:
        for guard in step.guards:
            if self._heeds and self._doubted(guard.source):
                continue
            seen = get(self._results[guard.source.step], guard.source.path)
            if seen is not MISSING and seen != guard.expected:
                return f"The policy does not allow this, because the record says {seen!r}."
        return ""

    def _doubted(self, source: Reference) -> bool:
        receipt = self._doubts.get(source.step)
        if receipt is None:
            return False
        place = pointer(source.path) + "/"
        return not receipt.paths or any(place.startswith(path + "/") for path in receipt.paths)

    def _prepare(self, step: Step) -> Driven[None]:
        """Have the user tell what only the user knows, and confirm before the first write."""
        if not self._converses:
            return (yield from self._hear_until(step.turn))
        if step.writes and not self._consulted:
            yield from self._consult(CONSULT)
        told = step.told
        while self._consulted < _CONSULTATIONS and not all(map(self._told.__contains__, told)):
            yield from self._consult(CONSULT)

    def _hear_until(self, turn: int) -> Driven[None]:
        """Hear a user with several requests, who says the next one to whatever is said."""
        while self._heard < turn:
            yield from self._consult(NEXT)

    def _writes(self, tool: str) -> bool:
        spec = self._specs.get(tool)
        return spec is not None and spec.kind == "write"

    def _consult(self, question: str) -> Driven[None]:
        self._consulted += 1
        self._heard += 1
        reply = yield from self._act(Say(question))
        assert isinstance(reply, str)
        self._knowledge.told.append(reply)
        self._told = f"{self._told}\n{reply.lower()}"

    def _act(self, action: Action) -> Driven[Observation]:
        self._steps_left -= 1
        back = yield action
        assert not isinstance(back, Move)
        return back

    # ---- obtaining one result -------------------------------------------------------------

    def _obtain(self, step: Step, call: ToolCall) -> Driven[bool]:
        source = Source((call,), _only, False)
        paths = paths_from(self._domain, call.name, self._alternatives)
        work = Work(step, call, source, list(paths))
        if call.name in self._down:
            work.start((yield from self._next_source(work)) or source)
        while True:
            self._steps_left -= 1
            result = yield work.source.calls[work.position]
            assert isinstance(result, ToolResult)
            self._take(work, result)
            move = yield self._situation(work)
            assert isinstance(move, Move)
            if move in _INDIRECT:
                move = yield from self._settle(work, move)
            if move is Move.ABSTAIN:
                yield from self._act(self._transfer())
                return False
            if move is Move.RETRY and work.last and not work.signal:
                work.forget()
            elif move is Move.VERIFY and work.last and not work.signal:
                work.position, work.parsed = 0, []
            elif move is Move.PROCEED:
                if work.last or work.signal:
                    break
                work.position += 1
        self._accept(work)
        return True

    def _take(self, work: Work, result: ToolResult) -> None:
        """Note what the current call brought, and read the source's result if it was the last."""
        work.tried_again |= bool(work.signal)
        content, work.receipt = open_receipt(result.content)
        if content != result.content:
            result = ToolResult(content, result.is_error)
        work.signal, work.landed = read_signal(result), None
        if work.signal:
            work.failures += 1
            return
        work.failures = 0
        value = parse_result(content)
        del work.parsed[work.position :]
        work.parsed.append(value)
        if work.source.switched:
            self._knowledge.results.append((work.source.calls[work.position], value))
        if work.last:
            work.clean += 1
            answer = work.source.read(work.parsed)
            work.fetched = answer is not None and not lacks(answer, work.step.needed)
            if not work.fetched:
                work.poor = MISSING if answer is None else answer
            else:
                work.fetches.append(answer)
                work.doubts.append(work.doubt)

    def _settle(self, work: Work, move: Move) -> Driven[Move]:
        """Make moves until one needs the current call, a new one, or ends the work."""
        while True:
            if move is Move.ASK:
                yield from self._consult(CONSULT)
            elif move is Move.VERIFY and work.step.writes:
                if work.landed is not None:
                    return Move.PROCEED
                work.landed = yield from self._look(work)
            elif move is Move.SWITCH:
                if not work.untried:
                    return Move.PROCEED
                if work.signal:
                    self._down.add(work.source.calls[work.position].name)
                source = yield from self._next_source(work)
                if source is not None:
                    work.start(source)
                    return Move.SWITCH
            elif move is Move.VERIFY and work.signal:
                return Move.RETRY
            else:
                return move
            again = yield self._situation(work)
            assert isinstance(again, Move)
            move = again

    def _situation(self, work: Work) -> Situation:
        step, untried, source = work.step, work.untried, work.source
        # In the order of the fields: named ones would take twice as long, once for each call.
        return Situation(
            step.writes,
            work.signal,
            work.failures,
            work.clean,
            len(untried),
            source.switched,
            work.missing,
            self._agreeing(work) if len(work.fetches) > 1 else len(work.fetches),
            work.landed,
            step.critical,
            self._steps_left,
            len(self._plan.steps) - len(self._results) + self._talks_left(),
            work.last,
            source.calls[work.position].name,
            work.call.name,
            untried[0].target if untried else "",
            work.receipt is not None,
            work.receipt is not None and work.listed,
        )

    def _talks_left(self) -> int:
        return int(not self._consulted) if self._converses else self._requests - self._heard

    def _agreeing(self, work: Work) -> int:
        return max(Counter(self._keys(work)).values())

    def _keys(self, work: Work) -> list[str]:
        needed = work.step.needed
        return [canonical([get(answer, path) for path in needed]) for answer in work.fetches]

    def _accept(self, work: Work) -> None:
        """Keep the answer on which most fetches agree (the newest of equals)."""
        best = len(work.fetches) - 1
        if len(work.fetches) > 1:
            keys = self._keys(work)
            counts = Counter(keys)
            best = max(range(len(keys)), key=lambda i: (counts[keys[i]], i))
        answer = work.fetches[best] if work.fetches else work.poor
        if work.doubts and (doubt := work.doubts[best]):
            self._doubts[len(self._results)] = doubt
        resent = work.signal == "refused" and work.tried_again  # the first sending went through
        done = not work.signal or work.fetches or work.landed or resent
        self._unfinished |= work.step.critical and not done
        self._results.append(answer)
        if answer is not MISSING:
            self._knowledge.results.append((work.call, answer))

    # ---- other paths ----------------------------------------------------------------------

    def _next_source(self, work: Work) -> Driven[Source | None]:
        """Return the next path whose calls can be formed, asking the user if that may help."""
        while work.untried:
            path = work.untried.pop(0)
            calls = path.calls(work.call.arguments, self._knowledge)
            if calls is None and path.ask and self._consulted < _CONSULTATIONS:
                yield from self._consult(path.ask)
                calls = path.calls(work.call.arguments, self._knowledge)
            if calls and all(c.name in self._specs and c.name not in self._down for c in calls):
                return Source(calls, _reader(path, work.call), True)
        return None

    def _look(self, work: Work) -> Driven[bool]:
        """Read the record that a write is about, and say whether the write shows in it."""
        read = self._read_back(work.call)
        for _ in range(_LOOKS if read is not None else 0):
            assert read is not None
            result = yield from self._act(read)
            assert isinstance(result, ToolResult)
            if not read_signal(result):
                value = parse_result(open_receipt(result.content).raw)
                landed = self._shows(work.call, read, value)
                self._knowledge.results.append((read, value))
                if landed and not lacks(value, work.step.needed):
                    work.fetches.append(value)
                    work.doubts.append(None)
                return landed
        return False

    def _shows(self, write: ToolCall, read: ToolCall, record: Json) -> bool:
        """Whether a record differs from what was known of it, or else holds what was written."""
        known = [v for call, v in self._knowledge.results if _shared(call, write) and _is_record(v)]
        if known:
            return canonical(record) != canonical(known[-1])
        text = Told(canonical(record))
        written = [leaf for _, leaf in leaves(write.arguments) if leaf != ""]
        # What the read was asked with is no news, unless nothing else was written.
        news = [leaf for leaf in written if leaf not in read.arguments.values()]
        return all(text.has(leaf) for leaf in news or written)

    def _read_back(self, write: ToolCall) -> ToolCall | None:
        """Return the call that reads the record of a write: one made before, or one that can be."""
        for call, value in reversed(self._knowledge.results):
            if _shared(call, write) and _is_record(value) and not self._writes(call.name):
                return call
        can = [
            (spec.name, required)
            for spec in self._specs.values()
            if spec.kind == "read"
            and (required := spec.parameters.get("required", ()))
            and set(required) <= write.arguments.keys()
        ]
        if not can:
            return None
        name, required = max(can, key=lambda read: len(read[1]))  # the most specific one
        return ToolCall(name, {key: write.arguments[key] for key in required})

    def _transfer(self) -> ToolCall:
        return ToolCall(self._domain.transfer_tool, {"summary": HANDOVER})

    def _close(self) -> Driven[None]:
        """Tell the user the outcome until the user is content."""
        yield from self._hear_until(self._requests)
        parts = list(self._refusals)
        for output in self._plan.outputs:
            try:
                parts.append(f"The answer is {resolve(output, self._results)}.")
            except MissingValueError:
                self._unfinished = True
        parts.append(FAILURE if self._unfinished and self._honest else SUCCESS)
        for _ in range(_CONSULTATIONS):
            yield from self._act(Say(" ".join(parts)))


def _shared(call: ToolCall, write: ToolCall) -> bool:
    """Whether two calls are about one record: they share a text argument."""
    entity = {v for v in write.arguments.values() if isinstance(v, str)}
    return not entity.isdisjoint(v for v in call.arguments.values() if isinstance(v, str))


def _is_record(value: Json) -> bool:
    return isinstance(value, dict)


def _only(parsed: list[Json]) -> Json:
    return parsed[0]


def _reader(path: FallbackPath, call: ToolCall) -> Callable[[list[Json]], Json | None]:
    return lambda parsed: path.read(call.arguments, parsed)
