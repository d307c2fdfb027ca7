"""Four tools of ours for the airline: its own tools give nothing by a second path.

Their granularity is honest: each says what it does not give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench2robust.domains.tau2.airline.fields import DEPARTURES, PARTS, SUMMARIES, USER
from bench2robust.domains.tau2.kit import Alternative, Opened
from bench2robust.domains.tau2.records import answer, chosen, found, read_spec

__all__ = ["alternatives"]

_SUMMARY = ("reservation_id", "origin", "destination", "flight_type", "cabin", "status")
_LEG = ("flight_number", "origin", "destination", "date")
_PARTS = (
    "reservation_id",
    "user_id",
    "passengers",
    "payment_history",
    "created_at",
    "total_baggages",
    "nonfree_baggages",
    "insurance",
)
_FLIGHT = (
    "flight_number",
    "origin",
    "destination",
    "scheduled_departure_time_est",
    "scheduled_arrival_time_est",
)


def _get_user_reservations(environment: Any, /, user_id: str) -> str:
    database = environment.tools.db
    user = found("User", database.users, user_id)
    return answer([_summary(database.reservations[r]) for r in user.reservations])


def _summary(reservation: Any) -> dict[str, Any]:
    legs = [chosen(leg, _LEG) for leg in reservation.flights]
    return {**chosen(reservation, _SUMMARY), "flights": legs}


def _get_reservation_parts(environment: Any, /, reservation_id: str) -> str:
    reservations = environment.tools.db.reservations
    return answer(chosen(found("Reservation", reservations, reservation_id), _PARTS))


def _get_user_by_reservation(environment: Any, /, reservation_id: str) -> Any:
    database = environment.tools.db
    return database.users[found("Reservation", database.reservations, reservation_id).user_id]


def _list_departures(environment: Any, /, origin: str, date: str) -> str:
    rows = []
    for flight in environment.tools.db.flights.values():
        if flight.origin != origin or date not in flight.dates:
            continue
        day = flight.dates[date]
        if day.status == "available":
            seats = {"available_seats": day.available_seats, "prices": day.prices}
            rows.append({**chosen(flight, _FLIGHT), "status": day.status, "date": None, **seats})
    return answer(rows)


_RESERVATION_ID = {"reservation_id": "The reservation ID, such as 'ZFA04Y'."}
_TOOLS = (
    Alternative(
        read_spec(
            "get_user_reservations",
            "Get a summary of every reservation of a user: route, cabin, status and flights with "
            "their dates. Without prices, passengers, payments, baggage and insurance.",
            {"user_id": "The user ID, such as 'sara_doe_496'."},
            SUMMARIES,
        ),
        _get_user_reservations,
    ),
    Alternative(
        read_spec(
            "get_reservation_parts",
            "Get what belongs to a reservation besides its flights: user, passengers, payments, "
            "baggage and insurance. Without route, cabin and flights.",
            _RESERVATION_ID,
            PARTS,
        ),
        _get_reservation_parts,
    ),
    Alternative(
        read_spec(
            "get_user_by_reservation",
            "Get the details of the user who holds a reservation.",
            _RESERVATION_ID,
            USER,
        ),
        _get_user_by_reservation,
    ),
    Alternative(
        read_spec(
            "list_departures",
            "List every direct flight with free seats that leaves an airport on a day, whatever "
            "its destination.",
            {
                "origin": "The origin airport in three letters, such as 'JFK'.",
                "date": "The day in the format 'YYYY-MM-DD', such as '2024-05-01'.",
            },
            DEPARTURES,
        ),
        _list_departures,
    ),
)


def alternatives(opened: Opened) -> Sequence[Alternative]:
    """Return the tools of ours for the airline."""
    return _TOOLS
