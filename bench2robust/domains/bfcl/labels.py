"""What is known of BFCL's tools beyond their schemas.

The kinds follow from what a call does to the *public* state, which the benchmark compares, found by
running every gold call of the four categories. One tool is an exception: ``cd`` moves the working
directory, a private attribute that no comparison sees and every later call depends on. As a read
its lost answer would count for nothing and its repetition would be harmless; it is neither.
"""

from __future__ import annotations

from bench2robust.core.types import ToolKind

__all__ = ["TRANSFER", "idempotent", "kind_of"]

TRANSFER = "transfer_to_human_agents"
"""A tool of ours: the benchmark has none that hands the user over, and abstention needs one."""

_WRITES = frozenset(
    (
        # GorillaFileSystem
        "cd", "cp", "echo", "mkdir", "mv", "rm", "rmdir", "touch",
        # MessageAPI
        "add_contact", "delete_message", "message_login", "send_message",
        # TwitterAPI
        "authenticate_twitter", "comment", "follow_user", "mention", "post_tweet", "retweet",
        "unfollow_user",
        # TicketAPI
        "close_ticket", "create_ticket", "edit_ticket", "logout", "resolve_ticket",
        "ticket_login",
        # TradingBot
        "add_to_watchlist", "cancel_order", "fund_account", "place_order",
        "remove_stock_from_watchlist", "trading_login", "trading_logout", "withdraw_funds",
        # TravelAPI
        "authenticate_travel", "book_flight", "cancel_booking", "purchase_insurance",
        "register_credit_card", "set_budget_limit",
        # VehicleControlAPI
        "activateParkingBrake", "adjustClimateControl", "fillFuelTank", "lockDoors",
        "pressBrakePedal", "releaseBrakePedal", "setCruiseControl", "setHeadlights",
        "set_navigation", "startEngine",
    )
)  # fmt: skip

_UNSAFE = frozenset(
    (
        "authenticate_travel", "book_flight", "cd", "comment", "create_ticket",
        "delete_message", "fillFuelTank", "fund_account", "mention", "place_order",
        "post_tweet", "purchase_insurance", "register_credit_card", "send_message",
        "withdraw_funds",
    )
)  # fmt: skip
"""Writes that a second, equal call does again: a lost answer must not be met by sending them anew.

``cd`` is among them for its folder is named from where one is: ``cd('..')`` twice is two levels.
"""


def kind_of(tool: str, owner: str) -> ToolKind:
    """Return the kind of a tool of the class ``owner``."""
    if owner == "MathAPI":
        return "generic"
    return "write" if tool in _WRITES else "read"


def idempotent(tool: str) -> bool | None:
    """Return whether sending a write twice does what sending it once does; None for no write."""
    return tool not in _UNSAFE if tool in _WRITES else None
