"""The class ``user``: three ways to find out who is asking."""

from __future__ import annotations

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.fallbacks.reading import Arguments, Calls
from bench2robust.domains.retail.mentions import mentions

__all__ = ["LOOKUPS", "USER", "read_user_id"]


def _ask_email(_: Arguments, known: Knowledge) -> list[ToolCall] | None:
    found = mentions(known.text()).emails
    return [ToolCall("find_user_id_by_email", {"email": found[0]})] if found else None


def _ask_name_zip(_: Arguments, known: Knowledge) -> list[ToolCall] | None:
    """Use a name and a zip code only where the user said that they are: asking costs less."""
    told = mentions(known.text())
    names = told.known_names()
    zips = told.own_zips or (told.zips if len(told.zips) == 1 else ())
    if not names or not zips:
        return None
    first, last = names[0]
    arguments = {"first_name": first, "last_name": last, "zip": zips[0]}
    return [ToolCall("find_user_id_by_name_zip", arguments)]


def _ask_order(_: Arguments, known: Knowledge) -> list[ToolCall] | None:
    found = mentions(known.text()).order_ids
    return [ToolCall("get_user_by_order", {"order_id": found[0]})] if found else None


def read_user_id(_: Arguments, results: list[Json]) -> Json | None:
    """Return the user id that a look-up gave."""
    result = results[0]
    return result if isinstance(result, str) and mentions(result).user_ids == (result,) else None


LOOKUPS: dict[str, tuple[Calls, str, str]] = {
    "find_user_id_by_email": (_ask_email, "user id by email", "Could you tell me your email?"),
    "find_user_id_by_name_zip": (
        _ask_name_zip,
        "user id by first name, last name and zip code",
        "Could you tell me your full name and zip code?",
    ),
    "get_user_by_order": (
        _ask_order,
        "user id by any order number of the user",
        "Could you tell me one of your order numbers?",
    ),
}

USER = FallbackClass(
    "user",
    tuple(LOOKUPS),
    tuple(
        FallbackPath(source, target, "all", note, calls, read_user_id, ask)
        for source in LOOKUPS
        for target, (calls, note, ask) in LOOKUPS.items()
        if source != target
    ),
)
