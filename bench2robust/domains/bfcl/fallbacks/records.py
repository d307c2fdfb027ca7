"""Records that a coarser tool lists among others."""

from __future__ import annotations

import ast

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl.fallbacks.reading import Arguments, path

__all__ = ["AIRPORT", "BALANCE", "INVOICE", "SENT", "STOCKS", "TICKET"]

_INVOICE = (
    "travel_date",
    "travel_from",
    "travel_to",
    "travel_class",
    "travel_cost",
    "transaction_id",
)


def _history(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("get_booking_history", {"access_token": arguments["access_token"]})]


def _booking(arguments: Arguments, results: list[Json]) -> Json | None:
    booking = arguments.get("booking_id")
    row = _entry(results[0], "booking_history", booking)
    if row is None or any(name not in row for name in _INVOICE):
        return None
    return {"invoice": {"booking_id": booking, **{name: row[name] for name in _INVOICE}}}


INVOICE = FallbackClass(
    "invoice",
    ("retrieve_invoice", "get_booking_history"),
    (
        path(
            "retrieve_invoice",
            "get_booking_history",
            "all",
            "every booking by its id, with the same fields",
            _history,
            _booking,
        ),
    ),
)


def _cards(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("get_all_credit_cards", {})]


def _balance(arguments: Arguments, results: list[Json]) -> Json | None:
    row = _entry(results[0], "credit_card_list", arguments.get("card_id"))
    return {"card_balance": row["balance"]} if row and "balance" in row else None


BALANCE = FallbackClass(
    "balance",
    ("get_credit_card_balance", "get_all_credit_cards"),
    (
        path(
            "get_credit_card_balance",
            "get_all_credit_cards",
            "all",
            "every card with its balance, and with its number and code",
            _cards,
            _balance,
        ),
    ),
)


def _airports(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("list_all_airports", {})]


def _all_stocks(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("filter_stocks_by_price", {"stocks": [], "min_price": 0, "max_price": 1e9})]


def _nothing(arguments: Arguments, results: list[Json]) -> None:
    return None


AIRPORT = FallbackClass(
    "airport",
    ("get_nearest_airport_by_city", "list_all_airports"),
    (
        path(
            "get_nearest_airport_by_city",
            "list_all_airports",
            "none",
            "codes of airports, without their cities",
            _airports,
            _nothing,
        ),
    ),
)
STOCKS = FallbackClass(
    "stocks",
    ("get_available_stocks", "filter_stocks_by_price"),
    (
        path(
            "get_available_stocks",
            "filter_stocks_by_price",
            "none",
            "of symbols that are known, those in a range of prices; no sectors",
            _all_stocks,
            _nothing,
        ),
    ),
)


def _every_message(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("search_messages", {"keyword": ""})]


def _by_receiver(arguments: Arguments, results: list[Json]) -> Json | None:
    found = results[0].get("results") if isinstance(results[0], dict) else None
    if not isinstance(found, list):
        return None
    sent: dict[str, list[Json]] = {}
    for row in found:
        if not isinstance(row, dict) or not {"receiver_id", "message"} <= row.keys():
            return None
        sent.setdefault(str(row["receiver_id"]), []).append(row["message"])
    return {"messages": sent}


SENT = FallbackClass(
    "sent",
    ("view_messages_sent", "search_messages"),
    (
        path(
            "view_messages_sent",
            "search_messages",
            "all",
            "every message, one by one; fails where a message is no text",
            _every_message,
            _by_receiver,
        ),
    ),
)


def _own_tickets(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("get_user_tickets", {})]


def _ticket(arguments: Arguments, results: list[Json]) -> Json | None:
    rows = _python(results[0])
    wanted = arguments.get("ticket_id")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("id") == wanted:
            return row
    return None


TICKET = FallbackClass(
    "ticket",
    ("get_ticket", "get_user_tickets"),
    (
        path(
            "get_ticket",
            "get_user_tickets",
            "some",
            "the user's own tickets only; fails where a ticket has no author",
            _own_tickets,
            _ticket,
        ),
    ),
)


def _entry(result: Json, table: str, key: Json) -> dict[str, Json] | None:
    rows = result.get(table) if isinstance(result, dict) else None
    row = rows.get(key) if isinstance(rows, dict) and isinstance(key, str) else None
    return row if isinstance(row, dict) else None


def _python(result: Json) -> Json:
    """Return a list that the benchmark shows as Python text; None for any other text."""
    if not isinstance(result, str):
        return result
    try:
        return ast.literal_eval(result) if len(result) < 20_000 else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
