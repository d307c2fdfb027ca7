"""The bytes of a chat completion: what is sent, and what may come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from bench2robust.core.canonical import MAX_TEXT, Json
from bench2robust.core.chat import ContextOverflowError, Message, Reply, Usage

__all__ = ["BrokenAnswerError", "Encoder", "is_overflow", "problem", "read_reply"]

MAX_ANSWER = 16 * MAX_TEXT
"""Longest answer, in characters, that is read at all."""
_CHARACTERS = 3.5
"""Characters a token, where a server does not report usage."""
_OVERFLOW = re.compile(
    r"context[ _](?:length|size|window)|maximum context|prompt is too long|too many tokens"
    r"|exceeds? the (?:available|model'?s?|maximum)|reduce the length|input is too long",
    re.IGNORECASE,
)


class BrokenAnswerError(Exception):
    """An answer with status 200 that is no chat completion: HTML, half a JSON text, and so on."""


class Encoder:
    """Writes the requests of one episode; what was sent before is not written anew.

    A message that was sent must not be changed afterwards: to change one, put another in its place.
    """

    def __init__(self, model: str, sampling: Mapping[str, Any]) -> None:
        self._head = {"model": model, **sampling}
        self._written: list[tuple[object, orjson.Fragment]] = []
        self._tools: tuple[object, orjson.Fragment] | None = None

    def encode(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> bytes:
        """Return the body of a request."""
        del self._written[len(messages) :]
        for index, message in enumerate(messages):
            if index == len(self._written):
                self._written.append(_fragment(message))
            elif self._written[index][0] is not message:
                self._written[index] = _fragment(message)
        body: dict[str, Any] = {**self._head, "messages": [text for _, text in self._written]}
        if tools:
            if self._tools is None or self._tools[0] is not tools:
                self._tools = _fragment(tools)
            body["tools"] = self._tools[1]
        return orjson.dumps(body)


def _fragment(value: object) -> tuple[object, orjson.Fragment]:
    return value, orjson.Fragment(orjson.dumps(value))


def read_reply(text: str, sent: int) -> Reply:
    """Return the reply in an answer.

    Args:
        sent: bytes of the request, for an estimate where the server reports no usage.

    Raises:
        BrokenAnswerError: it is no chat completion.
        ContextOverflowError: it is an error that says so, sent with status 200.
    """
    value = _parse(text)
    message, finish = _message(value)
    calls = message.get("tool_calls") or ()
    content = _content(message.get("content") or message.get("refusal"))
    usage = _usage(value.get("usage")) or _estimate(sent, content, calls)
    # Anything but a list is kept, so that the agent is told what is wrong with it.
    return Reply(content, tuple(calls) if isinstance(calls, list) else (calls,) if calls else (),
                 finish, usage)  # fmt: skip


def problem(text: str) -> str:
    """Return what an error's body says, on one line and short."""
    try:
        value: Json = orjson.loads(text)
    except ValueError:
        value = text
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    shown = value if isinstance(value, str) else json.dumps(value)
    return " ".join(re.sub(r"<[^>]*>", " ", shown).split())[:300]


def is_overflow(status: int, text: str) -> bool:
    """Say whether an error answer means that the messages do not fit the context."""
    return status in (400, 413, 422) and bool(_OVERFLOW.search(text))


def _parse(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except ValueError:
        value = _leniently(text)
    if not isinstance(value, dict):
        raise BrokenAnswerError("not a JSON object")
    return value


def _leniently(text: str) -> Json:
    """Parse what orjson refuses, lone surrogates in a model's words, with the odd ones replaced."""
    try:
        clean = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return orjson.loads(clean)
    except (ValueError, RecursionError):
        shown = " ".join(text[:80].split())
        raise BrokenAnswerError(f"not JSON: {shown!r}" if text else "empty") from None


def _message(value: dict[str, Any]) -> tuple[dict[str, Any], str]:
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        error = json.dumps(value.get("error", "no choices"))
        if _OVERFLOW.search(error):
            raise ContextOverflowError(error[:300])
        raise BrokenAnswerError(f"no message in it: {error[:200]}")
    return message, str(first.get("finish_reason") or "")


def _content(content: Json) -> str:
    """Return the text of a message's content, which some servers send in parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(value: Json) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") or 0
    prompt, completion = _count(value, "prompt_tokens"), _count(value, "completion_tokens")
    if prompt is None or completion is None:
        return None
    return Usage(prompt, completion, min(cached, prompt))


def _count(value: Json, name: str) -> int | None:
    count = value.get(name) if isinstance(value, dict) else None
    fine = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    return count if fine else None


def _estimate(sent: int, content: str, calls: Json) -> Usage:
    written = len(content) + (len(orjson.dumps(calls)) if calls else 0)
    return Usage(round(sent / _CHARACTERS), round(written / _CHARACTERS), estimated=True)
