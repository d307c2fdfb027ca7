"""The read calls that a text suffices to make: the moves of the searches behind plans and S3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from bench2robust.core.types import ToolCall
from bench2robust.domains.tau2.airline.mentions import mentions
from bench2robust.domains.tau2.kit import Opened, Probes

__all__ = ["make_probes"]

_BY_USER = ("get_user_details", "get_user_reservations")
_BY_RESERVATION = ("get_reservation_details", "get_reservation_parts", "get_user_by_reservation")
_BY_ROUTE = ("search_direct_flight", "search_onestop_flight")


def make_probes(opened: Opened) -> Probes:
    """Return the probes of an airline with these files."""
    reservations: dict[str, Any] = opened.raw["reservations"]
    users: dict[str, Any] = opened.raw["users"]
    airports = frozenset(flight["origin"] for flight in opened.raw["flights"].values())

    def probes(known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Who is asking comes first, then their reservations, then flights on their routes."""
        found = mentions(known, airports)
        for user, tool in product(found.users, _BY_USER):
            if user in users:
                yield ToolCall(tool, {"user_id": user})
        for reservation, tool in product(found.reservations, _BY_RESERVATION):
            if reservation in reservations:
                yield ToolCall(tool, {"reservation_id": reservation})
        for tool, (origin, destination), day in product(_BY_ROUTE, found.routes, found.days):
            yield ToolCall(tool, {"origin": origin, "destination": destination, "date": day})
        for origin, day in product(dict.fromkeys(o for o, _ in found.routes), found.days):
            yield ToolCall("list_departures", {"origin": origin, "date": day})

    return probes
