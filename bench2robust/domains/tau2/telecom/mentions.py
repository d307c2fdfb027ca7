"""What a text mentions of a telephone company: people, numbers and ids, found by pattern."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Mentions", "mentions"]

_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b", re.ASCII)
_NAME = re.compile(r"\b(?:[Yy]ou are|[Mm]y name is|I am|I['’]m)\s+([A-Z][a-z]+ [A-Z][a-z]+)\b")
_FULL_NAME = re.compile(r'"full_name": ?"([^"]+)"')
_BIRTH = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b(?!T)", re.ASCII)
_ID = re.compile(r"\b[CLDBP]\d{4,}\b", re.ASCII)


class Mentions(NamedTuple):
    """What a text mentions, each in the order of the text and once.

    Attributes:
        births: ISO dates that may be dates of birth.
        ids: of customers, lines, devices, bills and plans.
    """

    phones: tuple[str, ...]
    names: tuple[str, ...]
    births: tuple[str, ...]
    ids: tuple[str, ...]

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the ids of one kind, by its letter."""
        return tuple(found for found in self.ids if found[0] == kind)


def mentions(text: str) -> Mentions:
    """Return what ``text`` mentions."""
    names = (*_NAME.findall(text), *_FULL_NAME.findall(text))
    found = (_PHONE.findall(text), names, _BIRTH.findall(text), _ID.findall(text))
    return Mentions(*(tuple(dict.fromkeys(column)) for column in found))
