"""Where BFCL's documents do not describe what its functions return, as met on the gold calls."""

from __future__ import annotations

from bench2robust.core.paths import Pattern

__all__ = ["true_path"]

_UNWRAPPED = frozenset(("check_tire_pressure", "displayCarStatus"))
"""The documented object is the result itself."""
_BY_ID = frozenset(("get_all_credit_cards", "get_booking_history"))
"""The documented fields are those of each record, by its id."""
_NO_JSON = frozenset(
    ("echo", "get_order_history", "get_user_tickets", "list_all_airports", "logarithm")
)
"""The result is a text, a list as Python writes it, or has another field."""
_ASKED = frozenset(
    (name,) for name in ("fuelLevel", "doorStatus", "currentACTemperature", "fanSpeed")
)
"""Fields of a car's status that gold calls ask for; every option has others."""
_NOT_THERE: frozenset[tuple[str, ...]] = frozenset(
    (
        ("check_tire_pressure", "car_info"),
        ("estimate_distance", "intermediaryCities"),  # in the long context only
        ("get_stock_info", "MA(5)"),  # a list in the long context
        ("get_stock_info", "MA(20)"),
    )
)


def true_path(tool: str, path: Pattern) -> Pattern | None:
    """Return where a documented field really is; None where it is not or not always."""
    if tool in _NO_JSON or (tool == "book_flight" and len(path) > 1):
        return None
    if tool in _UNWRAPPED:
        path = path[1:]
    elif tool in _BY_ID and len(path) > 1:
        path = (path[0], "*", *path[1:])
    unasked = tool == "displayCarStatus" and path[:1] not in _ASKED
    return None if not path or unasked or (tool, *path) in _NOT_THERE else path
