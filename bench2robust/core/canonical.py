"""JSON: one canonical text per value, bounded parsing of foreign text, strict equality.

Python's own comparison says ``True == 1`` and ``0.0 == -0.0``, orjson turns NaN into null and
refuses lone surrogates and integers beyond 64 bits. The functions here give every JSON-like value
one text and never raise on strange ones.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import orjson

__all__ = ["Json", "canonical", "is_deep", "parse_json", "parse_result", "same_json"]

Json = Any
"""A parsed JSON value: None, bool, int, float, str, list or dict with string keys."""

_SORTED = orjson.OPT_SORT_KEYS
MAX_TEXT = 1_000_000
"""Longest foreign text, in characters, that is parsed at all."""
MAX_DEPTH = 100
"""Deepest nesting of lists and objects in foreign text. orjson reads 1024 levels, writes 254."""


def canonical(value: Json) -> str:
    """Return the canonical JSON text of ``value``: sorted keys, no spaces.

    Values that JSON proper cannot hold (NaN, huge integers, lone surrogates) still get a stable
    text, so a key or a comparison built on it never fails.
    """
    try:
        text = orjson.dumps(value, option=_SORTED).decode()
    except (TypeError, ValueError, RecursionError):
        return _fallback(value)
    # orjson writes NaN and infinities as null; only then is the slow look needed.
    return _fallback(value) if "null" in text and _has_nonfinite(value) else text


def _fallback(value: Json) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(ascii(type(value).__name__))


def _has_nonfinite(value: Json) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if item != item or item in (float("inf"), float("-inf")):
                return True
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
    return False


def same_json(a: Json, b: Json) -> bool:
    """Say whether two values have the same canonical text (``True`` differs from ``1``)."""
    return canonical(a) == canonical(b)


def parse_json(text: str) -> Json:
    """Parse foreign text.

    Raises:
        ValueError: the text is not JSON, is longer than ``MAX_TEXT`` characters or is nested
            deeper than ``MAX_DEPTH``.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"text of {len(text)} characters is longer than {MAX_TEXT}")
    value = orjson.loads(text)
    # Counting brackets is fast, and few of them cannot nest deeply.
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deep(value):
        raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep")
    return value


def is_deep(value: Json) -> bool:
    """Say whether lists and objects are nested more than ``MAX_DEPTH`` deep."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return False
        level = [x for item in level for x in (item.values() if isinstance(item, dict) else item)]
    return True


@lru_cache(maxsize=8192)
def parse_result(content: str) -> Json:
    """Parse a tool result: its JSON value where it is a JSON object or list, else the text.

    The value is cached and shared: callers must not change it.
    """
    if content[:1] in ("{", "["):
        try:
            return orjson.loads(content)
        except ValueError:
            return content
    return content
