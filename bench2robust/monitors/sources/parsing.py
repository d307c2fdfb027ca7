"""Foreign JSON: one value from bytes that anybody may have written, or a word on what is wrong."""

from __future__ import annotations

import json

import orjson

from bench2robust.core.canonical import MAX_DEPTH, Json, is_deep
from bench2robust.core.errors import shown

__all__ = ["MAX_LINE", "parse"]

MAX_LINE = 16 * 1024 * 1024
"""Longest line, in bytes, that is parsed at all."""
_NOT_ORJSON = (b"NaN", b"Infinity", b"\\ud")
"""What Python's own ``json`` writes and orjson refuses: non-finite numbers, lone surrogates."""


def parse(data: bytes) -> Json:
    """Return the JSON value of ``data``.

    ``NaN`` and ``Infinity`` are read as the numbers that they are: whether a tool may return one
    is for a contract to say.

    Raises:
        ValueError: it is not UTF-8, not JSON, cut off, names a key of an object twice, or is
            nested more than ``MAX_DEPTH`` deep; the text says which, and where.
    """
    value = _loads(data)
    # Brackets are quickly counted, and few of them cannot nest deeply.
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and is_deep(value):
        raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep")
    if _may_repeat_keys(data, value):
        _refuse_repeated_keys(data)
    return value


def _loads(data: bytes) -> Json:
    try:
        return orjson.loads(data)
    except ValueError as error:
        problem = _problem(data, error)
    if any(mark in data for mark in _NOT_ORJSON):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            pass
    raise ValueError(problem)


def _problem(data: bytes, error: ValueError) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {data[wrong.start]:#04x} at position {wrong.start} is not UTF-8"
    position = getattr(error, "pos", 0)
    if position >= len(text.rstrip()):
        return "the JSON value is cut off"
    reason = str(error).partition(":")[0]
    return f"no JSON value: {reason} at position {position}, {shown(text[position:][:20])}"


def _may_repeat_keys(data: bytes, value: Json) -> bool:
    """Whether a colon got lost between text and value: what was parsed keeps one of two keys.

    Counting costs a twentieth of looking at every key. An escaped colon makes the counts differ
    too; then the keys are looked at.
    """
    try:
        return data.count(b":") != orjson.dumps(value).count(b":")
    except TypeError:  # a lone surrogate, or nested too deep for orjson to write
        return True


def _refuse_repeated_keys(data: bytes) -> None:
    json.loads(data, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Json]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"an object has the key {shown(key)} twice")
        seen.add(key)
