"""Three tools of ours for the telephone company.

Its own second path to a customer needs a date of birth, which no user of its tasks knows; lines
have none. Their granularity is honest: each says what it does not give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench2robust.domains.tau2.kit import Alternative, Opened
from bench2robust.domains.tau2.records import answer, chosen, read_spec
from bench2robust.domains.tau2.telecom.fields import LINE_OF_CUSTOMER, LINES, SUMMARIES

__all__ = ["alternatives"]

_SUMMARY = ("customer_id", "full_name", "phone_number", "line_ids", "bill_ids")


def _search_customers_by_name(environment: Any, /, full_name: str) -> str:
    wanted = full_name.strip().lower()
    customers = environment.tools.db.customers
    return answer([chosen(c, _SUMMARY) for c in customers if c.full_name.lower() == wanted])


def _get_line_by_phone(environment: Any, /, phone_number: str) -> str:
    database = environment.tools.db
    for line in database.lines:
        if line.phone_number == phone_number:
            owner = next((c for c in database.customers if line.line_id in c.line_ids), None)
            of = {"customer_id": owner.customer_id if owner else None}
            return answer({**line.model_dump(mode="json"), **of})
    raise ValueError(f"Line with phone number {phone_number} not found")


def _get_lines_for_customer(environment: Any, /, customer_id: str) -> str:
    database = environment.tools.db
    for customer in database.customers:
        if customer.customer_id == customer_id:
            lines = {line.line_id: line for line in database.lines}
            return answer([lines[i].model_dump(mode="json") for i in customer.line_ids])
    raise ValueError(f"Customer with ID {customer_id} not found")


_TOOLS = (
    Alternative(
        read_spec(
            "search_customers_by_name",
            "List the customers of a name: their ids, phone numbers, lines and bills. Without "
            "address, account status, email, date of birth and payment methods.",
            {"full_name": "The full name of the customer."},
            SUMMARIES,
        ),
        _search_customers_by_name,
    ),
    Alternative(
        read_spec(
            "get_line_by_phone",
            "Get the line that has a phone number, with the id of its customer.",
            {"phone_number": "The phone number of the line."},
            LINE_OF_CUSTOMER,
        ),
        _get_line_by_phone,
    ),
    Alternative(
        read_spec(
            "get_lines_for_customer",
            "Get every line of a customer, with all its details.",
            {"customer_id": "ID of the customer."},
            LINES,
        ),
        _get_lines_for_customer,
    ),
)


def alternatives(opened: Opened) -> Sequence[Alternative]:
    """Return the tools of ours for the telephone company."""
    return _TOOLS
