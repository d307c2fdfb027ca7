"""From what a model wrote to an action: native tool calls first, then calls written as text."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import TypeAlias

from bench2robust.agents.actions import Calls, Malformed, decode_action, decode_calls
from bench2robust.agents.base import Say
from bench2robust.core.canonical import MAX_TEXT, Json
from bench2robust.core.chat import Reply

__all__ = ["read_action", "written"]

_Read: TypeAlias = Calls | Say | Malformed

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_OPENED = re.compile(r"\A(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL)
"""A thought that the chat template began, so that only its end is in the text."""
_MARKS = re.compile(r"\[TOOL_CALLS\]|<\|python_tag\|>")
"""What some models put before a call, without an end."""
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_LIKE_CALL = re.compile(r'\A\s*[\[{].{0,200}?"(?:name|function|arguments|tool_calls)"', re.DOTALL)
_STARTS = re.compile(r"\{\s*\"")
_LOOKS = 50
"""How many places of a text are tried as the start of a call."""
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_EMPTY = Malformed("the message is empty")
_CUT = Malformed("the message was cut off at the limit of tokens before anything was said")
_CUT_CALL = Malformed("the message was cut off at the limit of tokens, within a call")


def read_action(reply: Reply, tools: Container[str]) -> _Read:
    """Return what a reply asks for.

    Native calls win; text beside them is not said to the user. Without any, a call is looked for
    in the text: between ``<tool_call>`` tags, in a fenced block, the text as a whole, or an object
    with a name and arguments inside a sentence, if there is a tool of that name. Thoughts
    (``<think>``) and marks before calls are left out. Anything else is said to the user.
    """
    action = _read(reply, tools)
    cut = isinstance(action, Malformed) and reply.finish == "length" and action is not _CUT
    return _CUT_CALL if cut else action


def _read(reply: Reply, tools: Container[str]) -> _Read:
    if reply.calls:
        return _named(decode_calls(list(reply.calls)))
    text = _THOUGHT.sub("", _OPENED.sub("", reply.text))
    text = _MARKS.sub("", text).strip()
    if not text:
        return _CUT if reply.finish == "length" else _EMPTY
    if "<tool_call>" in text:
        return _named(_together([_decode(part) for part in _TAGGED.findall(text)]))
    for block in _FENCED.findall(text):
        if _LIKE_CALL.match(block):
            return _named(_decode(block.strip()))
    if text.startswith("{") or _LIKE_CALL.match(text):
        return _named(_decode(text))
    return _embedded(text, tools) or Say(text)


def written(reply: Reply) -> str:
    """Return a reply as text, for a record and for the dialogue: its calls too, if it made any."""
    if not reply.calls:
        return reply.text
    calls = json.dumps(reply.calls, ensure_ascii=False)
    return f"{reply.text}\n{calls}" if reply.text else calls


def _decode(text: str) -> _Read:
    if text.startswith("["):
        return _listed(text)
    # Some models write "parameters" where the tools' own descriptions have that word.
    return decode_action(_renamed(text)) if '"parameters"' in text else decode_action(text)


def _listed(text: str) -> _Read:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Malformed(f"the list of calls cannot be read as JSON: {error}")
    return _together([decode_action(json.dumps(entry)) for entry in entries])


def _renamed(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict) and "arguments" not in value and "parameters" in value:
        value["arguments"] = value.pop("parameters")
        return json.dumps(value)
    return text


def _together(parts: list[_Read]) -> _Read:
    """Return several calls as one action; malformed if any part is not a call."""
    calls: list[Json] = []
    for part in parts:
        if isinstance(part, Malformed):
            return part
        if isinstance(part, Say):
            return Malformed("what stands in the place of a call is no JSON object")
        calls += part
    return tuple(calls) or Malformed("the list of calls is empty")


def _named(action: _Read) -> _Read:
    """Refuse names that no endpoint would take back in the dialogue."""
    if isinstance(action, tuple) and not isinstance(action, (Say, Malformed)):
        for call in action:
            if not _NAME.fullmatch(call.name):
                return Malformed(f"there is no tool with the name {call.name[:80]!r}")
    return action


def _embedded(text: str, tools: Container[str]) -> Calls | None:
    """Return the first call to a known tool that stands inside a text."""
    decoder = json.JSONDecoder()
    for count, start in enumerate(_STARTS.finditer(text[:MAX_TEXT])):
        if count == _LOOKS:
            break
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        found = decode_action(_renamed(json.dumps(value)))
        if isinstance(found, tuple) and not isinstance(found, (Say, Malformed)):
            return found if all(call.name in tools for call in found) else None
    return None
