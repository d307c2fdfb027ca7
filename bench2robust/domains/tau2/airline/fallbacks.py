"""The fallback-equivalence classes of the airline's tools and ours.

Arguments come only from what the user told and from accepted results; results are read into the
shape of the tool that is replaced, with the fields that the other tool does not give left out.
"""

from __future__ import annotations

import re

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.fallbacks.reading import Arguments, lenient

__all__ = ["CLASSES"]

_RESERVATION = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{6}\b", re.ASCII)
_USER = re.compile(r"\b(?!credit_card_|gift_card_)[a-z]+_[a-z]+_\d+\b", re.ASCII)
_WHICH = "Could you tell me the reservation number?"
_WHO = "Could you tell me your user id?"


def _reservations(known: Knowledge) -> list[str]:
    """Return the ids of reservations that were observed or told, observed ones first."""
    seen = [str(t["reservation_id"]) for t in known.objects() if "reservation_id" in t]
    return [*seen, *_RESERVATION.findall(known.text())]


def _users(known: Knowledge) -> list[str]:
    seen = [str(thing["user_id"]) for thing in known.objects() if "user_id" in thing]
    return [*_USER.findall(known.text()), *seen]


# ---- user ---------------------------------------------------------------------------------


def _ask_by_reservation(_: Arguments, known: Knowledge) -> list[ToolCall] | None:
    ids = _reservations(known)
    return [ToolCall("get_user_by_reservation", {"reservation_id": ids[0]})] if ids else None


@lenient
def _read_user(arguments: Arguments, results: list[Json]) -> Json | None:
    user = results[0]
    return user if user["user_id"] == arguments.get("user_id", user["user_id"]) else None


def _ask_for_reservations(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
    return [ToolCall("get_user_reservations", {"user_id": arguments.get("user_id")})]


@lenient
def _read_ids(arguments: Arguments, results: list[Json]) -> Json | None:
    ids = [row["reservation_id"] for row in results[0]]
    return {"user_id": arguments["user_id"], "reservations": ids}


# ---- reservation --------------------------------------------------------------------------


def _ask_summary(_: Arguments, known: Knowledge) -> list[ToolCall] | None:
    users = _users(known)
    return [ToolCall("get_user_reservations", {"user_id": users[0]})] if users else None


def _ask_parts(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
    asked = {"reservation_id": arguments.get("reservation_id")}
    return [ToolCall("get_reservation_parts", asked)]


def _ask_both(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    summary, parts = _ask_summary(arguments, known), _ask_parts(arguments, known)
    return [*summary, *parts] if summary and parts else None


@lenient
def _read_summary(arguments: Arguments, results: list[Json]) -> Json | None:
    return next(r for r in results[0] if r["reservation_id"] == arguments["reservation_id"])


@lenient
def _read_parts(arguments: Arguments, results: list[Json]) -> Json | None:
    return results[0] if results[0]["reservation_id"] == arguments["reservation_id"] else None


@lenient
def _read_both(arguments: Arguments, results: list[Json]) -> Json | None:
    summary, parts = _read_summary(arguments, results[:1]), _read_parts(arguments, results[1:])
    return {**summary, **parts} if summary and parts else None


# ---- flight -------------------------------------------------------------------------------


def _ask_departures(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
    asked = {name: arguments.get(name) for name in ("origin", "date")}
    return [ToolCall("list_departures", asked)]


@lenient
def _read_departures(arguments: Arguments, results: list[Json]) -> Json | None:
    return [row for row in results[0] if row["destination"] == arguments["destination"]]


CLASSES = (
    FallbackClass(
        "user",
        ("get_user_details", "get_user_by_reservation", "get_user_reservations"),
        (
            FallbackPath(
                "get_user_details",
                "get_user_by_reservation",
                "all",
                "the same record by any reservation of the user",
                _ask_by_reservation,
                _read_user,
                _WHICH,
            ),
            FallbackPath(
                "get_user_details",
                "get_user_reservations",
                "some",
                "the user's reservations only; no payment methods, passengers or membership",
                _ask_for_reservations,
                _read_ids,
            ),
        ),
    ),
    FallbackClass(
        "reservation",
        ("get_reservation_details", "get_user_reservations", "get_reservation_parts"),
        (
            FallbackPath(
                "get_reservation_details",
                "get_reservation_parts",
                "some",
                "with get_user_reservations for the flights: all but the prices of the flights",
                _ask_both,
                _read_both,
                _WHO,
            ),
            FallbackPath(
                "get_reservation_details",
                "get_user_reservations",
                "some",
                "route, cabin, status and flights; no prices, passengers, payments or baggage",
                _ask_summary,
                _read_summary,
                _WHO,
            ),
        ),
    ),
    FallbackClass(
        "flight",
        ("search_direct_flight", "list_departures"),
        (
            FallbackPath(
                "search_direct_flight",
                "list_departures",
                "all",
                "the same flights among all that leave the airport on that day",
                _ask_departures,
                _read_departures,
            ),
        ),
    ),
)
"""Every class of the fourteen tools and ours. One-stop connections have no second path."""
