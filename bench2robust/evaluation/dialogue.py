"""What an episode's record says of its dialogue: the messages, and which tools were offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench2robust.agents.messages import Message, assistant_calls, plain, tool_result
from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolCall
from bench2robust.evaluation.record import EpisodeRecord

__all__ = ["offers_alternatives", "record_messages"]

_ROLES = {"user": "user", "say": "assistant", "unread": "assistant", "harness": "user"}


def record_messages(record: EpisodeRecord) -> Iterator[Message]:
    """Yield the dialogue as OpenAI messages, without a system prompt.

    Raises:
        DataError: the record holds no texts of tool results.
    """
    calls = 0
    for event in record["events"]:
        if "call" not in event:
            ((speaker, text),) = event.items()
            yield plain(_ROLES[speaker], text)
            continue
        yield assistant_calls([ToolCall(event["call"], event["args"])], calls)
        yield tool_result(calls, event["call"], _content(event, record))
        calls += 1


def offers_alternatives(record: EpisodeRecord) -> bool:
    """Whether the alternative tools were offered, which the name of a mode tells."""
    return record["mode"].partition("@")[0] in ("inject_alt", "s3")


def _content(event: Mapping[str, Any], record: EpisodeRecord) -> str:
    if "content" not in event:
        raise DataError(
            f"The record of task {record['task']!r} holds no texts of tool results: evaluate "
            "again with --transcripts."
        )
    content: str = event["content"]
    return content
