"""The decision-critical result fields of the telephone company's tools, for the silent kernels."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.paths import Pattern
from bench2robust.core.types import ResultFields

__all__ = ["FIELDS", "LINES", "LINE_OF_CUSTOMER", "SUMMARIES"]

_ACCOUNT = ("Pending Verification", "Active", "Suspended", "Closed")
_LINE = ("Pending Activation", "Active", "Suspended", "Closed")
_BILL = ("Draft", "Issued", "Overdue", "Awaiting Payment", "Paid")
_USAGE = ("data_used_gb", "data_refueling_gb")


def _customer(*root: str) -> ResultFields:
    contents = ("line_ids", "bill_ids", "payment_methods")
    return ResultFields(
        contents=tuple((*root, name) for name in contents),
        states=(((*root, "account_status"), _ACCOUNT),),
    )


def _line(*root: str, more: tuple[Pattern, ...] = ()) -> ResultFields:
    return ResultFields(
        contents=more,
        states=(((*root, "status"), _LINE), ((*root, "status"), _BILL)),
        amounts=tuple((*root, name) for name in (*_USAGE, "data_limit_gb", "total_due")),
    )


_TEXT = ResultFields(contents=((),))
SUMMARIES = ResultFields(contents=((), ("*", "line_ids"), ("*", "bill_ids")))
LINES = _line("*", more=((),))
LINE_OF_CUSTOMER = _line(more=(("line_id",),))
_USED = ResultFields(amounts=tuple((name,) for name in (*_USAGE, "data_limit_gb")))

FIELDS: Mapping[str, ResultFields] = {
    "get_customer_by_phone": _customer(),
    "get_customer_by_id": _customer(),
    "get_customer_by_name": _customer("*"),
    "get_details_by_id": _line(more=(("line_ids",), ("bill_ids",), ("line_items",))),
    "get_bills_for_customer": _line("*", more=((),)),
    "get_data_usage": _USED,
    "suspend_line": _line("line"),
    "resume_line": _line("line"),
    "refuel_data": ResultFields(amounts=(("new_data_refueling_gb",), ("charge",))),
    "send_payment_request": _TEXT,
    "enable_roaming": _TEXT,
    "disable_roaming": _TEXT,
}
"""By τ²-bench's tool."""
