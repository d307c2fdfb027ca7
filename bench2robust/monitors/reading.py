"""Reading results that others wrote: bounded, and calm about strange text."""

from __future__ import annotations

import json

import orjson

from bench2robust.core.canonical import Json, parse_result

__all__ = ["parsed_result"]

_LONGEST = 64 << 20
"""The longest text that is parsed, in characters; what is longer is left as text."""
_CACHED = 1 << 13
"""Longer texts are not kept after they were parsed: thousands are."""
_STRANGE = ("NaN", "Infinity")


def parsed_result(response: Json) -> Json:
    """Return the value of a tool's result.

    A text that holds a JSON object or list is parsed, once; any other text stays a text. Numbers
    that JSON lacks (NaN, infinities) are read as Python reads them. Where a key occurs twice, the
    last counts, as in every common parser. The value may be shared: do not change it.
    """
    if type(response) is not str or response.lstrip()[:1] not in ("{", "["):
        return response
    if len(response) <= _CACHED and response[:1] in ("{", "["):
        value = parse_result(response)  # an environment has often parsed it already
        return value if type(value) is not str else _leniently(response)
    try:
        return orjson.loads(response) if len(response) <= _LONGEST else response
    except ValueError:
        return _leniently(response)


def _leniently(text: str) -> Json:
    """Return what Python's own parser makes of a text that orjson refuses."""
    if any(word in text for word in _STRANGE):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text
