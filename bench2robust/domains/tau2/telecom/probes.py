"""The read calls that a text suffices to make: the moves of the searches behind plans and S3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from bench2robust.core.types import ToolCall
from bench2robust.domains.tau2.kit import Opened, Probes
from bench2robust.domains.tau2.telecom.mentions import mentions

__all__ = ["make_probes"]

_BY_PHONE = ("get_customer_by_phone", "get_line_by_phone")
_BY_CUSTOMER = ("get_customer_by_id", "get_bills_for_customer", "get_lines_for_customer")


def make_probes(opened: Opened) -> Probes:
    """Return the probes of a telephone company."""
    return _probes


def _probes(known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
    """Who is asking comes first, then what belongs to them."""
    found = mentions(known)
    for phone, tool in product(found.phones, _BY_PHONE):
        yield ToolCall(tool, {"phone_number": phone})
    for name in found.names:
        yield ToolCall("search_customers_by_name", {"full_name": name})
    for name, birth in product(found.names, found.births):
        yield ToolCall("get_customer_by_name", {"full_name": name, "dob": birth})
    for customer, tool in product(found.of("C"), _BY_CUSTOMER):
        yield ToolCall(tool, {"customer_id": customer})
    for thing in found.ids:
        yield ToolCall("get_details_by_id", {"id": thing})
    for customer, line in product(found.of("C"), found.of("L")):
        yield ToolCall("get_data_usage", {"customer_id": customer, "line_id": line})
