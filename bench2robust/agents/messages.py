"""The dialogue as OpenAI chat messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

import orjson

from bench2robust.core.chat import Message
from bench2robust.core.types import ToolCall

__all__ = ["Message", "assistant_calls", "call_id", "plain", "tool_result", "with_objects"]


def plain(role: str, content: str) -> Message:
    """Return a message without calls."""
    return {"role": role, "content": content}


def call_id(number: int) -> str:
    """Return the id of the ``number``-th call of an episode, from 0."""
    return f"call_{number}"


def assistant_calls(calls: Sequence[ToolCall], first: int) -> Message:
    """Return the message that makes ``calls``; the first of them is number ``first``."""
    entries = [
        {
            "id": call_id(first + offset),
            "type": "function",
            "function": {"name": call.name, "arguments": orjson.dumps(call.arguments).decode()},
        }
        for offset, call in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


def tool_result(number: int, name: str, content: str) -> Message:
    """Return the message with the result of call ``number``."""
    return {"role": "tool", "tool_call_id": call_id(number), "name": name, "content": content}


def with_objects(message: Message) -> Message:
    """Return a message as chat templates expect it: arguments as objects, content as text."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**(f := call["function"]), "arguments": json.loads(f["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "content": message["content"] or "", "tool_calls": calls}
