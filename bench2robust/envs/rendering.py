"""An episode as text for people, with what the agent was not told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench2robust.agents.messages import Message, call_id
from bench2robust.core.canonical import canonical
from bench2robust.core.paths import show
from bench2robust.injectors.events import BLOCKED, FaultEvent

__all__ = ["render_dialogue"]

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"
_LONGEST = 2000


def render_dialogue(messages: Sequence[Message], events: Sequence[FaultEvent], verdict: str) -> str:
    """Return the dialogue, each faulted result followed by red lines that say what was wrong.

    Args:
        messages: what the agent saw and did; system messages are left out.
        events: the ledger.
        verdict: the last line; empty for none.
    """
    ledger = {call_id(event.index): event for event in events}
    lines = [line for message in messages for line in _lines(message, ledger)]
    return "\n".join((*lines, verdict) if verdict else lines)


def _lines(message: Message, ledger: Mapping[str, FaultEvent]) -> Iterator[str]:
    role, content = message["role"], message["content"]
    if role == "system":
        return
    if content is not None:
        yield f"{role}: {_clean(content)}"
    for call in message.get("tool_calls", ()):
        yield f"{role}: {call['function']['name']} {_clean(call['function']['arguments'])}"
    event = ledger.get(message.get("tool_call_id", ""))
    if event is not None and event.delivered is not None:
        yield from (f"{_RED}  ! {mark}{_PLAIN}" for mark in _marks(event))


def _marks(event: FaultEvent) -> Iterator[str]:
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
