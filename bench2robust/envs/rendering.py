"""An episode as text for people, with what the agent was not told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench2robust.agents.messages import Message, call_id
from bench2robust.core.canonical import canonical
from bench2robust.core.paths import show
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.monitors.ledger import Check

__all__ = ["render_dialogue"]

_RED, _BLUE, _PLAIN = "\x1b[31m", "\x1b[34m", "\x1b[0m"
_LONGEST = 2000


def render_dialogue(
    messages: Sequence[Message],
    events: Iterable[FaultEvent],
    verdict: str,
    checks: Sequence[Check] = (),
) -> str:
    """Return the dialogue, each faulted result followed by red lines that say what was wrong.

    Blue lines say what a monitor found in a result, and whether the agent was told.

    Args:
        messages: what the agent saw and did; system messages are left out.
        events: the ledger of faults.
        verdict: the last line; empty for none.
        checks: the ledger of the monitor; empty without one.
    """
    marks = {call_id(e.index): [f"{_RED}  ! {m}{_PLAIN}" for m in _marks(e)] for e in events}
    for number, check in enumerate(checks):
        found = [f"{_BLUE}  ? {mark}{_PLAIN}" for mark in _found(check)]
        marks.setdefault(call_id(number), []).extend(found)
    lines = [line for message in messages for line in _lines(message, marks)]
    return "\n".join((*lines, verdict) if verdict else lines)


def _lines(message: Message, marks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    role, content = message["role"], message["content"]
    if role == "system":
        return
    if content is not None:
        yield f"{role}: {_clean(content)}"
    for call in message.get("tool_calls", ()):
        yield f"{role}: {call['function']['name']} {_clean(call['function']['arguments'])}"
    yield from marks.get(message.get("tool_call_id", ""), ())


def _found(check: Check) -> Iterator[str]:
    told = "receipt" if check.warned else "no receipt"
    for violation in check.violations:
        yield _clean(f"{told}: {violation.code} at {violation.path or 'the result'}")
    if check.warned and not check.violations:
        yield "warning without cause"


def _marks(event: FaultEvent) -> Iterator[str]:
    if event.delivered is None:
        return
    kind = f"blocked, {event.delivered}" if event.planned == BLOCKED else f"{event.delivered}"
    what = (
        "the write was committed" if event.committed else "" if event.executed else "not executed"
    )
    yield ", ".join(filter(None, (kind, what)))
    for path, before, after in event.changes:
        yield _clean(f"{show(path)}: {canonical(before)} -> {canonical(after)}")


def _clean(text: str) -> str:
    """Return a text cut to a readable length, without control characters and surrogates."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in cut)
