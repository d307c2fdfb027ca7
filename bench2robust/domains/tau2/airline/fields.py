"""The decision-critical result fields of the airline's tools, for the silent kernels."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.types import ResultFields

__all__ = ["DEPARTURES", "FIELDS", "PARTS", "SUMMARIES", "USER"]

USER = ResultFields(
    contents=(("payment_methods",), ("reservations",), ("saved_passengers",)),
    states=((("membership",), ("regular", "silver", "gold")),),
    amounts=(("payment_methods", "*", "amount"),),
)
_RESERVATION = ResultFields(
    contents=(("flights",), ("passengers",), ("payment_history",)),
    amounts=(("flights", "*", "price"), ("payment_history", "*", "amount")),
)
DEPARTURES = ResultFields(
    contents=((),), amounts=(("*", "prices", "*"), ("*", "available_seats", "*"))
)
_CONNECTIONS = ResultFields(
    contents=((),), amounts=(("*", "*", "prices", "*"), ("*", "*", "available_seats", "*"))
)
_TEXT = ResultFields(contents=((),))
_FLIGHT_STATES = ("available", "delayed", "on time", "flying", "landed")
SUMMARIES = ResultFields(contents=((), ("*", "flights")))
PARTS = ResultFields(
    contents=(("passengers",), ("payment_history",)),
    amounts=(("payment_history", "*", "amount"),),
)

FIELDS: Mapping[str, ResultFields] = {
    "get_user_details": USER,
    "get_reservation_details": _RESERVATION,
    "search_direct_flight": DEPARTURES,
    "search_onestop_flight": _CONNECTIONS,
    "get_flight_status": ResultFields(contents=((),), states=(((), _FLIGHT_STATES),)),
    "list_all_airports": _TEXT,
    "book_reservation": _RESERVATION,
    "cancel_reservation": _RESERVATION,
    "update_reservation_baggages": _RESERVATION,
    "update_reservation_flights": _RESERVATION,
    "update_reservation_passengers": _RESERVATION,
    "send_certificate": _TEXT,
    "calculate": _TEXT,
}
"""By τ²-bench's tool."""
