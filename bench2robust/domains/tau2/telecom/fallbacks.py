"""The fallback-equivalence classes of the telephone company's tools and ours.

Arguments come only from what the user told and from accepted results; results are read into the
shape of the tool that is replaced, with the fields that the other tool does not give left out.
"""

from __future__ import annotations

from collections.abc import Callable

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail.fallbacks.reading import Arguments, lenient
from bench2robust.domains.tau2.telecom.mentions import mentions

__all__ = ["CLASSES"]

Calls = Callable[[Arguments, Knowledge], "list[ToolCall] | None"]
Read = Callable[[Arguments, "list[Json]"], "Json | None"]


def _observed(known: Knowledge, name: str) -> list[str]:
    return [str(thing[name]) for thing in known.objects() if thing.get(name)]


# ---- customer -----------------------------------------------------------------------------


def _by_phone(tool: str) -> Calls:
    def ask(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
        phones = [arguments.get("phone_number"), *mentions(known.text()).phones]
        given = next((p for p in phones if p), None)
        return [ToolCall(tool, {"phone_number": given})] if given else None

    return ask


def _by_id(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    ids = _observed(known, "customer_id")
    return [ToolCall("get_customer_by_id", {"customer_id": ids[0]})] if ids else None


def _by_name(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    told = mentions(known.text())
    if not told.names or not told.births:
        return None
    asked = {"full_name": told.names[0], "dob": told.births[0]}
    return [ToolCall("get_customer_by_name", asked)]


def _by_name_alone(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    names = mentions(known.text()).names
    return [ToolCall("search_customers_by_name", {"full_name": names[0]})] if names else None


@lenient
def _read_customer(arguments: Arguments, results: list[Json]) -> Json | None:
    """Read one customer out of a record or a list; by id where one was asked for."""
    rows = results[0] if isinstance(results[0], list) else [results[0]]
    wanted = arguments.get("customer_id")
    fits = [row for row in rows if wanted in (None, row["customer_id"])]
    return fits[0] if len(fits) == 1 else None


@lenient
def _read_owner(_: Arguments, results: list[Json]) -> Json | None:
    return {"customer_id": results[0]["customer_id"]}


_BIRTH = "Could you tell me your full name and date of birth?"
_TARGETS: tuple[tuple[str, Calls, Read, str, str], ...] = (
    ("get_customer_by_phone", _by_phone("get_customer_by_phone"), _read_customer, "", ""),
    ("get_customer_by_id", _by_id, _read_customer, "", ""),
    ("get_customer_by_name", _by_name, _read_customer, "", _BIRTH),
    (
        "search_customers_by_name",
        _by_name_alone,
        _read_customer,
        "ids, phone number, lines and bills; no status, address or payment methods",
        "Could you tell me your full name?",
    ),
    (
        "get_line_by_phone",
        _by_phone("get_line_by_phone"),
        _read_owner,
        "only the customer's id, with the line of that number",
        "",
    ),
)
_SAME = "the same record of the customer"
_CUSTOMER = FallbackClass(
    "customer",
    tuple(target for target, *_ in _TARGETS),
    tuple(
        FallbackPath(source, target, "some" if note else "all", note or _SAME, calls, read, ask)
        for source in ("get_customer_by_phone", "get_customer_by_id")
        for target, calls, read, note, ask in _TARGETS
        if source != target
    ),
)


# ---- line ---------------------------------------------------------------------------------


def _ask_lines(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    ids = _observed(known, "customer_id")
    if not str(arguments.get("id")).startswith("L") or not ids:
        return None
    return [ToolCall("get_lines_for_customer", {"customer_id": ids[0]})]


@lenient
def _read_line(arguments: Arguments, results: list[Json]) -> Json | None:
    return next(row for row in results[0] if row["line_id"] == arguments["id"])


def _ask_usage(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    ids = _observed(known, "customer_id")
    if not str(arguments.get("id")).startswith("L") or not ids:
        return None
    asked = {"customer_id": ids[0], "line_id": arguments["id"]}
    return [ToolCall("get_data_usage", asked)]


def _ask_details(arguments: Arguments, _: Knowledge) -> list[ToolCall] | None:
    return [ToolCall("get_details_by_id", {"id": arguments.get("line_id")})]


_USED = ("data_used_gb", "data_refueling_gb")


@lenient
def _read_from_usage(arguments: Arguments, results: list[Json]) -> Json | None:
    """Read amounts as numbers: ``get_data_usage`` writes them as texts."""
    usage = results[0]
    return {"line_id": usage["line_id"], **{name: float(usage[name]) for name in _USED}}


@lenient
def _read_as_usage(arguments: Arguments, results: list[Json]) -> Json | None:
    line = results[0]
    return {"line_id": line["line_id"], **{name: str(line[name]) for name in _USED}}


_LINE = FallbackClass(
    "line",
    ("get_details_by_id", "get_lines_for_customer", "get_data_usage"),
    (
        FallbackPath(
            "get_details_by_id",
            "get_lines_for_customer",
            "all",
            "a line's record among those of its customer; for lines only",
            _ask_lines,
            _read_line,
        ),
        FallbackPath(
            "get_details_by_id",
            "get_data_usage",
            "some",
            "a line's data usage; no status, plan, device or roaming",
            _ask_usage,
            _read_from_usage,
        ),
        FallbackPath(
            "get_data_usage",
            "get_details_by_id",
            "some",
            "used and refuelled data; the limit is in the plan's record, the cycle nowhere",
            _ask_details,
            _read_as_usage,
        ),
    ),
)


# ---- bill ---------------------------------------------------------------------------------


def _ask_bills(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    ids = _observed(known, "customer_id")
    if not str(arguments.get("id")).startswith("B") or not ids:
        return None
    return [ToolCall("get_bills_for_customer", {"customer_id": ids[0]})]


@lenient
def _read_bill(arguments: Arguments, results: list[Json]) -> Json | None:
    return next(row for row in results[0] if row["bill_id"] == arguments["id"])


def _ask_each_bill(arguments: Arguments, known: Knowledge) -> list[ToolCall] | None:
    wanted = arguments.get("customer_id")
    for thing in known.objects():
        ids = thing.get("bill_ids")
        if thing.get("customer_id") == wanted and isinstance(ids, list) and ids:
            return [ToolCall("get_details_by_id", {"id": bill}) for bill in ids]
    return None


@lenient
def _read_bills(_: Arguments, results: list[Json]) -> Json | None:
    return sorted(results, key=lambda bill: str(bill["issue_date"]), reverse=True)


_BILL = FallbackClass(
    "bill",
    ("get_bills_for_customer", "get_details_by_id"),
    (
        FallbackPath(
            "get_bills_for_customer",
            "get_details_by_id",
            "all",
            "one call for each bill id that the customer's record lists",
            _ask_each_bill,
            _read_bills,
        ),
        FallbackPath(
            "get_details_by_id",
            "get_bills_for_customer",
            "all",
            "a bill's record among those of its customer; for bills only",
            _ask_bills,
            _read_bill,
        ),
    ),
)

CLASSES = (_CUSTOMER, _LINE, _BILL)
"""Every class of the thirteen tools and ours."""
