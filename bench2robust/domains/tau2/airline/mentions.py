"""What a text mentions of an airline: users, reservations, routes and days, found by pattern.

Texts are what a user says and what tools return, one a line. Routes and days count where a user
tells them and in records (of users, of reservations), not in lists of flights that were found: from
those every airport could be reached, and a search would have no end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import permutations
from typing import NamedTuple

__all__ = ["Mentions", "mentions"]

_USER = re.compile(r"\b[a-z]+_[a-z]+_\d+\b", re.ASCII)
_RESERVATION = re.compile(r"\b[A-Z0-9]{6}\b", re.ASCII)
_CODE = re.compile(r"\b[A-Z]{3}\b", re.ASCII)
_FLIGHT = re.compile(r"\bHAT\d{3}\b", re.ASCII)
_DAY = re.compile(r"\b2024-05-\d\d\b(?!T)", re.ASCII)
_ROUTE = re.compile(r'"origin": ?"([A-Z]{3})", ?"destination": ?"([A-Z]{3})"')
_PAYMENTS = frozenset({"credit_card", "gift_card"})


class Mentions(NamedTuple):
    """What a text mentions, each in the order of the text and once.

    Attributes:
        routes: pairs of airport codes: told ones in every order, those of records both ways.
        days: ISO dates.
    """

    users: tuple[str, ...]
    reservations: tuple[str, ...]
    flights: tuple[str, ...]
    routes: tuple[tuple[str, str], ...]
    days: tuple[str, ...]


def mentions(text: str, airports: frozenset[str]) -> Mentions:
    """Return what ``text`` mentions, of three-letter words those that are ``airports``."""
    lines = text.split("\n")
    told = "\n".join(line for line in lines if line[:1] not in ("{", "["))
    records = "\n".join(line for line in lines if line[:1] == "{")
    there = _ROUTE.findall(records)
    back = [(destination, origin) for origin, destination in there]
    both = f"{told}\n{records}"
    return Mentions(
        users=_once(u for u in _USER.findall(both) if u.rpartition("_")[0] not in _PAYMENTS),
        reservations=_once(_RESERVATION.findall(both)),
        flights=_once(_FLIGHT.findall(both)),
        routes=_once((*permutations(_codes(told, airports), 2), *there, *back)),
        days=_once(_DAY.findall(both)),
    )


def _codes(told: str, airports: frozenset[str]) -> tuple[str, ...]:
    return _once(code for code in _CODE.findall(told) if code in airports)


def _once(found: Iterable[str] | Iterable[tuple[str, str]]) -> tuple:  # type: ignore[type-arg]
    return tuple(dict.fromkeys(found))
