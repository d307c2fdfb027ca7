"""From an agent's text to what it does, and back.

An action of the environments is a string:

* an OpenAI assistant message with ``tool_calls``: every call is made, in order, each as one step
  of the episode; ``content`` beside calls is not said to the user;
* an OpenAI assistant message without them: its ``content`` is said to the user;
* one call, ``{"name": ..., "arguments": {...}}``;
* any text that does not start with ``{``: said to the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from bench2robust.agents.base import Say
from bench2robust.core.canonical import Json, parse_json
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall

__all__ = [
    "Calls",
    "Decoded",
    "Malformed",
    "decode_action",
    "decode_calls",
    "encode_action",
    "explain",
]

Calls: TypeAlias = tuple[ToolCall, ...]


class Malformed(NamedTuple):
    """A text that starts like a call and is none; ``reason`` tells the agent why."""

    reason: str


Decoded: TypeAlias = Calls | Say | Malformed

_MESSAGE = frozenset(("role", "content", "tool_calls"))


def decode_action(text: str) -> Decoded:
    """Return what an agent's text asks for: tool calls, a message to the user, or nonsense.

    Never raises, whatever the text. Texts that start with ``{`` and have more than ``MAX_TEXT``
    characters, or are nested deeper than ``MAX_DEPTH``, are malformed.
    """
    if not text.lstrip().startswith("{"):
        return Say(text)
    try:
        return _decode(_parse(text, "the text"))
    except ValueError as error:
        return Malformed(str(error))


def decode_calls(calls: Json) -> Calls | Malformed:
    """Return the calls of an OpenAI ``tool_calls`` list; malformed if any of them is."""
    try:
        return _calls(calls)
    except ValueError as error:
        return Malformed(str(error))


def explain(malformed: Malformed) -> str:
    """Return what an agent is told of an action that could not be read."""
    return _EXPLANATION.format(malformed.reason)


_EXPLANATION = (
    "Error: the action could not be read: {}. Write plain text to talk to the user, or one call as "
    '{{"name": ..., "arguments": {{...}}}}, or an assistant message with tool_calls.'
)


def encode_action(action: ToolCall | Say | Mapping[str, Any] | str) -> str:
    """Return the text of an action.

    Args:
        action: a call, a message to the user, or a dictionary of a form that
            :func:`decode_action` reads.

    Raises:
        UsageError: the dictionary is of neither form, JSON cannot hold it, or it is nested deeper
            than ``MAX_DEPTH``.
    """
    if isinstance(action, ToolCall):
        action = action._asdict()
    elif isinstance(action, Say):
        action = {"role": "assistant", "content": action.text}
    elif isinstance(action, str):
        return action
    try:
        text = json.dumps(dict(action), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the action cannot be written as JSON: {error}") from error
    decoded = decode_action(text)
    if isinstance(decoded, Malformed):
        raise UsageError(f"the action would be malformed: {decoded.reason}")
    return text


def _parse(text: str, what: str) -> Json:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as JSON: {error}") from error


def _decode(value: Json) -> Decoded:
    if _MESSAGE.isdisjoint(value):
        return (_call(value, "the call"),)
    if value.get("tool_calls"):
        return _calls(value["tool_calls"])
    if isinstance(value.get("content"), str):
        return Say(value["content"])
    raise ValueError("the message has neither tool_calls nor a content text")


def _calls(calls: Json) -> Calls:
    if not isinstance(calls, list):
        raise ValueError(f"tool_calls must be a list, not {_kind(calls)}")
    decoded = []
    for index, item in enumerate(calls):
        where = f"tool_calls[{index}]"
        if not isinstance(item, dict) or not isinstance(item.get("function"), dict):
            raise ValueError(f"{where} must be an object with an object 'function'")
        decoded.append(_call(item["function"], f"{where}.function"))
    return tuple(decoded)


def _call(value: dict[str, Json], where: str) -> ToolCall:
    missing = [key for key in ("name", "arguments") if key not in value]
    if missing:
        raise ValueError(f"{where} lacks {' and '.join(missing)}")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str):
        raise ValueError(f"the name in {where} must be a string, not {_kind(name)}")
    if isinstance(arguments, str):
        # Some servers send an empty text for a tool that takes no arguments.
        arguments = _parse(arguments or "{}", f"the arguments text in {where}")
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments in {where} must be an object, not {_kind(arguments)}")
    return ToolCall(name, arguments)


_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}


def _kind(value: Json) -> str:
    return "null" if value is None else _KINDS.get(type(value), "a number")
