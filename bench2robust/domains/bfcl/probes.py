"""The read calls that a text suffices to make: the moves of the searches behind plans and S3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolCall, ToolSpec

__all__ = ["probes"]

_FILE = re.compile(r"(?<![\w./-])[\w-]+\.[A-Za-z]\w{1,4}(?![\w/])")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?!\w|\.\d)")
_SYMBOL = re.compile(r"(?<!\w)[A-Z]{2,5}(?!\w)")
_USER = re.compile(r"(?<!\w)USR\d{3,}(?!\w)")
_DRAWING = frozenset(("get_outside_temperature_from_google", "get_current_speed"))
"""Reads that draw a number, so that a search that makes them moves the ids of later calls."""


def probes(specs: Sequence[ToolSpec], known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
    """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make.

    They need nothing, or one value of the text: the name of a file, the number of a record.
    """
    values = _values(known)
    for spec in specs:
        if spec.kind != "read" or spec.name in blocked or spec.name in _DRAWING:
            continue
        required = spec.parameters["required"]
        if not required:
            yield ToolCall(spec.name, {})
        elif len(required) == 1:
            (name,) = required
            for value in values.get(name, ()):
                yield ToolCall(spec.name, {name: value})


@lru_cache(maxsize=256)
def _values(known: str) -> dict[str, list[Json]]:
    numbers: list[Json] = [int(number) for number in dict.fromkeys(_NUMBER.findall(known))]
    return {
        "file_name": list(dict.fromkeys(_FILE.findall(known))),
        "ticket_id": numbers,
        "order_id": numbers,
        "tweet_id": numbers,
        "symbol": list(dict.fromkeys(_SYMBOL.findall(known))),
        "user_id": list(dict.fromkeys(_USER.findall(known))),
    }
