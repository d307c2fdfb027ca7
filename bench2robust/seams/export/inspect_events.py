"""An episode as Inspect's messages and as the events that its Transcript tab is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from inspect_ai.dataset import Sample
from inspect_ai.event import (
    Event,
    InfoEvent,
    ModelEvent,
    SampleInitEvent,
    ScoreEvent,
    ToolEvent,
)
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall, ToolCallError

from bench2robust.agents.messages import Message, with_objects
from bench2robust.core.keyed import digest
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.seams.export.source import Source, episode_name
from bench2robust.seams.export.timeline import Moment, moments

__all__ = ["Transcript", "last_said", "opening", "transcript"]

_ERRORS = {"timeout": "timeout", "auth_error": "permission"}
"""Inspect's closed set of error types has a word for these faults only."""


class Transcript(NamedTuple):
    """The two forms of one dialogue."""

    messages: list[ChatMessage]
    events: list[Event]


def transcript(source: Source, record: EpisodeRecord, scores: Mapping[str, Score]) -> Transcript:
    """Return an episode's messages and events.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    writer = _Writer(source.finished, record)
    listed = source.messages(record)
    messages = iter(listed)
    if listed and listed[0]["role"] == "system":
        writer.hear(next(messages))
    for moment in moments(record):
        writer.follow(moment, messages)
    writer.close(scores)
    return Transcript(writer.messages, writer.events)


def opening(record: EpisodeRecord) -> str:
    """Return what the user said first; empty if there is no user."""
    return next((event["user"] for event in record["events"] if "user" in event), "")


def last_said(record: EpisodeRecord) -> str:
    """Return what the agent told the user last; empty if nothing."""
    return next((event["say"] for event in reversed(record["events"]) if "say" in event), "")


class _Writer:
    def __init__(self, began: datetime, record: EpisodeRecord) -> None:
        self.messages: list[ChatMessage] = []
        self.events: list[Event] = []
        self._began = began
        self._record = record
        self._key = digest("messages", episode_name(record), size=8)
        first = Sample(input=opening(record), id=record["task"])
        self.events.append(SampleInitEvent(sample=first, state={}, **self._at(0.0)))

    def follow(self, moment: Moment, messages: Iterator[Message]) -> None:
        """Note one event of the record with the messages that it stands for."""
        event = moment.event
        if "call" in event:
            self._ask(next(messages), moment)
            self._told(next(messages), moment)
        elif "say" in event or "unread" in event:
            self._ask(next(messages), moment)
        else:
            self.hear(next(messages))

    def hear(self, message: Message) -> None:
        """Note what the agent is told by the policy, the user, or the harness."""
        kind = ChatMessageSystem if message["role"] == "system" else ChatMessageUser
        self.messages.append(kind(content=message["content"], id=self._id()))

    def close(self, scores: Mapping[str, Score]) -> None:
        """Note how the episode came out."""
        for name, score in scores.items():
            at = self._at(self._record["sim_seconds"])
            self.events.append(ScoreEvent(score=score, scorer=name, **at))

    def _ask(self, message: Message, moment: Moment) -> None:
        """Note the agent's own message, which a model's answer stands for."""
        calls = [
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in with_objects(message).get("tool_calls", ())
        ]
        answer = ChatMessageAssistant(
            content=message["content"] or "",
            tool_calls=calls or None,
            model=self._record["agent"],
            source="generate",
            id=self._id(),
        )
        self.events.append(
            ModelEvent(
                model=self._record["agent"],
                input=list(self.messages),
                tools=[],
                tool_choice="auto",
                config=GenerateConfig(),
                output=ModelOutput.from_message(answer),
                **self._at(moment.start),
            )
        )
        self.messages.append(answer)

    def _told(self, message: Message, moment: Moment) -> None:
        """Note a tool's result, and behind it what was wrong with it."""
        answer = ChatMessageTool(
            content=message["content"],
            tool_call_id=message["tool_call_id"],
            function=message["name"],
            error=_error(moment),
            id=self._id(),
        )
        self.messages.append(answer)
        self.events.append(
            ToolEvent(
                id=message["tool_call_id"],
                function=message["name"],
                arguments=moment.event["args"],
                result=message["content"],
                error=answer.error,
                message_id=answer.id,
                completed=self._began + timedelta(seconds=moment.end),
                working_time=moment.end - moment.start,
                **self._at(moment.start),
            )
        )
        for what, row in (("fault", moment.fault), ("receipt", moment.receipt)):
            if row is not None:
                data = {what: dict(row)}
                self.events.append(
                    InfoEvent(source="bench2robust", data=data, **self._at(moment.end))
                )

    def _id(self) -> str:
        return f"{self._key}-{len(self.messages)}"

    def _at(self, seconds: float) -> dict[str, Any]:
        key = f"{self._key}-event-{len(self.events)}"
        when = self._began + timedelta(seconds=seconds)
        return {"uuid": key, "timestamp": when, "working_start": seconds}


def _error(moment: Moment) -> ToolCallError | None:
    if not moment.event["error"]:
        return None
    fault = moment.fault["delivered"] if moment.fault else None
    kind: Any = _ERRORS.get(fault or "", "unknown")
    prefix = f"injected: {fault}: " if fault else ""
    return ToolCallError(type=kind, message=prefix + moment.event["content"])
