"""Errors that a result tells of by itself: a filled error field, a failed flag, an HTTP code.

Lexical, not mined. Only the top object and the objects in it are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import escape

__all__ = ["ALARMING", "CODE_KEYS", "ERROR_KEYS", "FLAG_KEYS", "HTTP_ERROR", "Alarm", "alarms"]

_ERRORS = (
    "error",
    "errors",
    "err",
    "error_message",
    "error_code",
    "errormessage",
    "exception",
    "traceback",
    "fault",
    "failure_reason",
)
_NO_ERROR = ("", "none", "null", "ok", "0", "false", "no")
_CODES = ("status", "code")
_FLAGS = ("success", "ok")
HTTP_ERROR = 400


def _spellings(name: str) -> set[str]:
    words = name.split("_")
    pascal = "".join(word.capitalize() for word in words)
    camel = pascal[:1].lower() + pascal[1:]
    return {name, name.upper(), name.capitalize(), pascal, camel, name.title()}


ERROR_KEYS = frozenset(key for name in _ERRORS for key in _spellings(name))
FLAG_KEYS = frozenset(key for name in _FLAGS for key in _spellings(name))
CODE_KEYS = frozenset(key for name in _CODES for key in _spellings(name))
ALARMING = ERROR_KEYS | FLAG_KEYS | CODE_KEYS | {"isError", "is_error"}
"""Every key that can tell of an error; a result without any of them tells of none."""


class Alarm(NamedTuple):
    """A field that tells of an error: its contract path and its value."""

    path: str
    value: Json


def alarms(result: Json) -> list[Alarm]:
    """Return the fields of a result that tell of an error, the top ones first."""
    if type(result) is not dict:
        return []
    found = [] if ALARMING.isdisjoint(result) else _alarms_in(result, "")
    for key, value in result.items():
        if type(value) is dict and not ALARMING.isdisjoint(value):
            found += _alarms_in(value, f"/{escape(key)}")
    return found


def _alarms_in(fields: dict[str, Json], at: str) -> list[Alarm]:
    keys = [key for key in ALARMING.intersection(fields) if _tells(key, fields[key], fields)]
    return [Alarm(f"{at}/{escape(key)}", fields[key]) for key in sorted(keys)]


def _tells(key: str, value: Json, fields: dict[str, Json]) -> bool:
    if key in ERROR_KEYS:
        return _is_filled(value)
    if key in FLAG_KEYS:
        return value is False
    if key in CODE_KEYS:
        return type(value) is int and value >= HTTP_ERROR and "message" in fields
    return value is True


def _is_filled(value: Json) -> bool:
    if type(value) is str:
        return len(value) > 8 or value.strip().casefold() not in _NO_ERROR
    return bool(value)
