"""``content_error_signature``: an error page or a stack trace inside a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import Extension, Summary, at_places, values_of
from bench2robust.monitors.findings import Rule
from bench2robust.monitors.gates import Gate

__all__ = ["ErrorSignature"]

_SIGNATURE = re.compile(
    r"<!doctype html|<html[\s>]|</(?:html|body|title|h1)>"
    r"|\bHTTP(?:/\d(?:\.\d)?)?(?: Error)? [45]\d\d\b"
    r"|Traceback \(most recent call last\)|\bBad JSON\b|\b(?:Bad Gateway|Internal Server Error"
    r"|Service Unavailable|Gateway Time-?out)\b",
    re.IGNORECASE,
)


class ErrorSignature(Extension):
    """Texts that never held the trace of a technical error do not hold one."""

    code = "content_error_signature"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield, for every text, whether it holds the trace of an error."""
        for path, value in values_of(result):
            if type(value) is str:
                yield path, _SIGNATURE.search(value) is not None

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return whether there was one."""
        return any(observed)

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return whether there was one in either."""
        return one or two

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return no parameters if there never was one."""
        return None if summary else {}

    def rule(self, invariant: Invariant) -> Rule:
        """Return what searches a text."""

        def broken(value: Json) -> tuple[Json, str] | None:
            if type(value) is str and (found := _SIGNATURE.search(value)):
                return "no error text", f"holds an error text ({found.group()})"
            return None

        return at_places(invariant, broken)
