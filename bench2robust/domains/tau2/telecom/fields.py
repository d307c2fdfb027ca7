"""The decision-critical result fields of the telephone company's tools, for the silent kernels."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.paths import Pattern
from bench2robust.core.types import ResultFields

__all__ = ["FIELDS", "LINES", "LINE_OF_CUSTOMER", "SUMMARIES"]

_ACCOUNT = ("Pending Verification", "Active", "Suspended", "Closed")
_LINE = ("Pending Activation", "Active", "Suspended", "Closed")
_BILL = ("Draft", "Issued", "Overdue", "Awaiting Payment", "Paid")


def _customer(*root: str) -> ResultFields:
    contents = ("line_ids", "bill_ids", "payment_methods")
    return ResultFields(
        contents=tuple((*root, name) for name in contents),
        states=(((*root, "account_status"), _ACCOUNT),),
    )


def _line(*root: str, more: tuple[Pattern, ...] = ()) -> ResultFields:
    return ResultFields(
        contents=more,
        states=(((*root, "status"), _LINE),),
        amounts=tuple((*root, name) for name in ("data_used_gb", "data_refueling_gb")),
    )


_TEXT = ResultFields(contents=((),))
SUMMARIES = ResultFields(contents=((), ("*", "line_ids"), ("*", "bill_ids")))
LINES = _line("*", more=((),))
LINE_OF_CUSTOMER = _line(more=(("line_id",),))
_BILLS = ResultFields(
    contents=((), ("*", "line_items")),
    states=((("*", "status"), _BILL),),
    amounts=(("*", "total_due"), ("*", "line_items", "*", "amount")),
)
_DETAILS = ResultFields(  # of a line, a bill, a customer, a plan or a device
    contents=(("line_ids",), ("bill_ids",), ("line_items",)),
    states=((("status",), _LINE), (("status",), _BILL)),
    amounts=tuple((n,) for n in ("data_used_gb", "data_refueling_gb", "total_due")),
)

FIELDS: Mapping[str, ResultFields] = {
    "get_customer_by_phone": _customer(),
    "get_customer_by_id": _customer(),
    "get_customer_by_name": _customer("*"),
    "get_details_by_id": _DETAILS,
    "get_bills_for_customer": _BILLS,
    "get_data_usage": ResultFields(contents=(("data_used_gb",),)),  # its numbers are texts
    "suspend_line": _line("line"),
    "resume_line": _line("line"),
    "refuel_data": ResultFields(contents=(("message",),)),  # its numbers are texts
    "send_payment_request": _TEXT,
    "enable_roaming": _TEXT,
    "disable_roaming": _TEXT,
}
"""By τ²-bench's tool."""
