"""The bytes of receipts, and that no raw result is ever lost in one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.receipts import (
    APPWORLD,
    ENVELOPES,
    Envelope,
    brief,
    encode,
    hide_values,
    open_receipt,
    with_verification,
)
from bench2robust.monitors.violation import Violation

PRICE = Violation(
    "nonpositive_value",
    "/price_usd",
    "> 0",
    -1.5,
    "nominally positive field price_usd is not positive",
)
CURRENCY = Violation(
    "unseen_category",
    "/currency",
    ["EUR", "USD"],
    "???",
    "field currency has unseen categorical value",
)
TYPE = Violation(
    "learned_type_mismatch",
    "/celsius_now",
    ["integer"],
    "string",
    "field celsius_now has unexpected type",
)
STOCKS = ("get_stock_yahoo_finance", "get_stock_alpha_vantage")
WEATHER = ("get_weatherapi_alert_card_native", "get_visualcrossing_forecast_chip_native")
RAW = '{"price_usd":-1.5,"currency":"???"}'

V1 = """{ "status": "inconsistent", "violations": [ {"code": "nonpositive_value", "detail":
 "nominally positive field price_usd is not positive"}, {"code": "unseen_category", "detail":
 "field currency has unseen categorical value"} ], "admissible_recovery_tools": [
 "get_stock_yahoo_finance", "get_stock_alpha_vantage" ] }""".replace("\n", "")
V2 = """{ "status": "inconsistent", "violation": { "tool": "get_weatherapi_alert_card_native",
 "property": "learned_type_mismatch", "path": "celsius_now", "expected": ["integer"], "observed":
 "string" }, "admissible_recovery_tools": [ "get_weatherapi_alert_card_native",
 "get_visualcrossing_forecast_chip_native" ] }""".replace("\n", "")
GENERIC = """{ "status": "inconsistent", "violation": { "property": "generic_caution", "message":
 "This result may be unreliable; verify it before relying on it." }, "admissible_recovery_tools":
 ["…"] }""".replace("\n", "")
STRIPPED = """{ "status": "inconsistent", "violation": { "property": "generic_caution", "message":
 "This result may be unreliable; verify it before relying on it." } }""".replace("\n", "")
"""The four receipts as the paper's supplement prints them, but for its line breaks."""


def compact(printed: str) -> str:
    """Return a printed receipt as one line without the spaces of the print inside brackets."""
    for spaced, close in (("{ ", "{"), (" }", "}"), ("[ ", "["), (" ]", "]")):
        printed = printed.replace(spaced, close)
    return printed


@pytest.mark.parametrize(
    ("printed", "envelope", "tool", "violations", "recovery"),
    [
        (V1, "v1", "get_stock", (PRICE, CURRENCY), STOCKS),
        (V2, "v2", WEATHER[0], (TYPE,), WEATHER),
        (GENERIC, "generic", "get_stock", (PRICE,), ("…",)),
        (STRIPPED, "stripped", "get_stock", (PRICE,), ("…",)),
    ],
)
def test_receipts_of_the_supplement(
    printed: str, envelope: Envelope, tool: str, violations: Any, recovery: Any
) -> None:
    made = encode(envelope, tool, RAW, violations, recovery)
    assert made == f'{{"tool_result": {RAW}, "outcome_contract": {compact(printed)}}}'


STATUS = Violation("unseen_category", "/status", ["pending", "delivered"], "in_limbo", "")
TEXT = (
    '{"status": "in_limbo"}\n\n'
    "[OUTCOME CONTRACT ADVISORY] The observed result from 'get_order_details' is inconsistent with "
    "a known invariant of the retail database. Violation: unseen_category at 'status'; expected "
    '["pending", "delivered"], observed "in_limbo". This advisory is nonbinding. Treat the result '
    "as unreliable and verify or recover using the available documented tools and task context "
    "before relying on it. All actions remain available."
)


def test_text_receipt_of_tau_bench() -> None:
    made = encode("text", "get_order_details", '{"status": "in_limbo"}', (STATUS,), ())
    assert made == TEXT


def test_text_receipt_of_appworld_differs_in_two_places() -> None:
    made = encode("text", "get_order_details", '{"status": "in_limbo"}', (STATUS,), (), APPWORLD)
    expected = TEXT.replace("a known invariant of the retail database", APPWORLD.invariant)
    assert made == expected.replace("documented tools", "documented APIs")
    assert "its public response contract" in made


RAWS = (
    "plain text",
    '"a JSON string"',
    "",
    "12.50",
    "null",
    "[1, 2 ,3]",
    '{"a": {"tool_result": 1, "outcome_contract": {"status": "fine"}}}',
    '{"a":NaN}',
    '{"price": 1.0e2, "price": 3}',
    "12345678901234567890123456789",
    '{"tool_result": 1}',
    "[" * 200 + "]" * 200,
    'a "quoted" \\ text\n\n[OUTCOME CONTRACT ADVISORY] of its own',
    "ünïcode — 漢字",
)


@pytest.mark.parametrize("raw", RAWS)
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_the_raw_result_comes_back_byte_for_byte(envelope: Envelope, raw: str) -> None:
    made = encode(envelope, "t", raw, (STATUS,), ("t", "u"))
    opened = open_receipt(made)
    assert opened.raw == raw
    assert opened.receipt is not None
    if envelope != "text":
        found = json.loads(made)["tool_result"]
        assert found == raw or json.dumps(found) == json.dumps(json.loads(raw))


@given(st.text(), st.sampled_from(ENVELOPES))
def test_any_text_comes_back(raw: str, envelope: Envelope) -> None:
    assert open_receipt(encode(envelope, "t", raw, (STATUS,), ())).raw == raw


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON_VALUES, st.sampled_from(ENVELOPES))
def test_any_json_comes_back(value: Any, envelope: Envelope) -> None:
    raw = json.dumps(value)
    assert open_receipt(encode(envelope, "t", raw, (STATUS,), ())).raw == raw


def test_a_result_without_a_receipt_is_left_alone() -> None:
    for raw in (*RAWS[:-2], RAWS[-1]):
        assert open_receipt(raw) == (raw, None)


@pytest.mark.parametrize(
    ("path", "spoken"), [("/a", "a"), ("/a/0/b", "/a/0/b"), ("", ""), ("/a~1b", "a~1b")]
)
def test_a_receipt_tells_where(path: str, spoken: str) -> None:
    violation = Violation("unseen_category", path, 1, 2, "")
    made = encode("v2", "t", "{}", (violation,), ("t",))
    assert json.loads(made)["outcome_contract"]["violation"]["path"] == spoken
    opened = open_receipt(made)
    assert opened.receipt is not None
    assert opened.receipt.paths == (path,)
    assert opened.receipt.recovery == ("t",)


def test_receipts_without_a_witness_name_no_place() -> None:
    for envelope in ("v1", "generic", "stripped"):
        opened = open_receipt(encode(envelope, "t", "{}", (STATUS,), ("u",)))
        assert opened.receipt is not None
        assert opened.receipt.paths == ()
        assert opened.receipt.recovery == (() if envelope == "stripped" else ("u",))


def test_a_verification_is_no_receipt() -> None:
    made = with_verification('{"a": 1.0}', "u", '{"a":2}')
    assert made == '{"tool_result": {"a": 1.0}, "verification": {"tool": "u", "result": {"a": 2}}}'
    assert open_receipt(made) == ('{"a": 1.0}', None)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        (list(range(8)), list(range(8))),
        (list(range(23)), [*range(8), "… (23 in all)"]),
        ({"a": 1}, {"a": 1}),
        (float("nan"), "non-finite number"),
        ([float("inf")], ["non-finite number"]),
        ({"a": float("nan")}, '{"a":NaN}'),
        (None, None),
    ],
)
def test_quoted_values_are_short(value: Any, shown: Any) -> None:
    assert brief(value) == shown


def test_nothing_quoted_is_long() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    for value in (deep, {"k": "v" * 10_000}, {"k": list(range(10_000))}, [[["y" * 999] * 50] * 50]):
        made = encode("v2", "t", "{}", (Violation("c", "/p", value, value, ""),), ())
        json.loads(made)
        assert len(made) < 300_000
    assert len(json.dumps(brief({"k": "v" * 10_000}))) < 300


def test_a_redactor_takes_values_out() -> None:
    made = encode("v2", "t", "{}", (hide_values(STATUS),), ())
    assert "in_limbo" not in made
    assert "pending" not in made
    assert "status" in made


def test_an_unknown_envelope_is_named() -> None:
    with pytest.raises(UnknownNameError, match="v1"):
        encode("v3", "t", "{}", (STATUS,), ())  # type: ignore[arg-type]
