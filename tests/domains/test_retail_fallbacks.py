from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.fallbacks import CLASSES
from bench2robust.domains.retail.session import RetailSession

PATHS = [path for cls in CLASSES for path in cls.paths]
TOLD = "I am Ann Roe and my zip code is 80001. My email is ann@example.com, my order #W10001."
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "find_user_id_by_email": [{"email": "ann@example.com"}],
    "find_user_id_by_name_zip": [{"first_name": "Ann", "last_name": "Roe", "zip": "80001"}],
    "get_user_by_order": [{"order_id": "#W10001"}],
    "get_order_details": [{"order_id": "#W10001"}, {"order_id": "#W10002"}],
    "get_orders_for_user": [{"user_id": "ann_roe_1111"}],
    "check_order_item_availability": [{"order_id": "#W10001"}, {"order_id": "#W10002"}],
    "get_product_details": [{"product_id": "1000000000"}, {"product_id": "2000000000"}],
    "search_product_by_name": [{"name": "Desk lamp"}, {"name": "Mug"}],
    "get_item_details": [{"item_id": "1000000001"}, {"item_id": "1000000004"}],
    "get_item_by_product_options": [
        {"product_name": "mug", "options": {"size": "large"}},
        {"product_name": "Desk Lamp", "options": {"color": "black", "power": "usb"}},
    ],
}
READS = [
    ToolCall("find_user_id_by_email", {"email": "ann@example.com"}),
    ToolCall("get_user_details", {"user_id": "ann_roe_1111"}),
    *(ToolCall("get_order_details", {"order_id": f"#W1000{i}"}) for i in (1, 2, 3)),
    *(ToolCall("get_product_details", {"product_id": f"{i}000000000"}) for i in (1, 2)),
]


def run(session: RetailSession, call: ToolCall) -> Json:
    return parse_result(session.call(call).content)


def everything(session: RetailSession) -> Knowledge:
    return Knowledge([TOLD], [(call, run(session, call)) for call in READS])


def within(part: Json, whole: Json) -> bool:
    """Every field of ``part`` is in ``whole`` with the same value."""
    if isinstance(part, dict):
        return all(key in whole and within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)


def test_every_alternative_and_every_tool_it_stands_in_for_is_in_a_class() -> None:
    members = {name: set(cls.members) for cls in CLASSES for name in [cls.name]}
    assert members == {
        "user": {"find_user_id_by_email", "find_user_id_by_name_zip", "get_user_by_order"},
        "order": {
            "get_order_details",
            "get_orders_for_user",
            "check_order_item_availability",
        },
        "product": {
            "get_product_details",
            "search_product_by_name",
            "check_order_item_availability",
            "get_item_by_product_options",
        },
        "item": {"get_item_details", "get_item_by_product_options"},
    }
    for cls in CLASSES:
        assert {p.source for p in cls.paths} | {p.target for p in cls.paths} <= set(cls.members)


@pytest.mark.parametrize("path", PATHS, ids=lambda p: f"{p.source}-{p.target}")
def test_what_is_read_is_what_the_replaced_tool_says(
    session: RetailSession, path: FallbackPath
) -> None:
    equal = []
    for arguments in ARGUMENTS[path.source]:
        truth = run(session, ToolCall(path.source, arguments))
        calls = path.calls(arguments, everything(session))
        assert calls, path
        assert path.target in (calls[0].name, calls[-1].name)
        assert path.source not in {call.name for call in calls}
        read = path.read(arguments, [run(session, call) for call in calls])
        assert read
        assert within(read, truth)
        equal.append(read == truth)
    assert all(equal) == (path.granularity == "all")


def test_an_order_is_put_together_from_summary_and_items(session: RetailSession) -> None:
    path = next(p for p in PATHS if p.source == "get_order_details")
    known = everything(session)
    calls = path.calls({"order_id": "#W10002"}, known)
    assert calls == [
        ToolCall("get_orders_for_user", {"user_id": "ann_roe_1111"}),
        ToolCall("check_order_item_availability", {"order_id": "#W10002"}),
    ]
    order = path.read({"order_id": "#W10002"}, [run(session, call) for call in calls])
    assert set(order) == {"order_id", "user_id", "status", "items", "payment_history"}
    assert order["items"][2]["item_id"] == "2000000001"
    assert order["payment_history"][0]["amount"] == 110.2


def test_the_orders_user_is_who_was_looked_up_last(session: RetailSession) -> None:
    path = next(p for p in PATHS if p.source == "get_order_details")
    lookup = ToolCall("get_user_by_order", {"order_id": "#W10004"})
    known = Knowledge([TOLD], [(lookup, run(session, lookup))])
    calls = path.calls({"order_id": "#W10004"}, known)
    assert calls and calls[0].arguments == {"user_id": "ann_roe_2222"}
    assert path.calls({"order_id": "#W10004"}, Knowledge([TOLD])) is None
    assert path.ask


def test_a_product_is_named_by_an_order_or_the_list_of_products(session: RetailSession) -> None:
    path = next(p for p in PATHS if p.target == "search_product_by_name")
    wanted = {"product_id": "2000000000"}
    assert path.calls(wanted, Knowledge([TOLD])) is None
    for call in (READS[2], ToolCall("list_all_product_types", {})):
        known = Knowledge([], [(call, run(session, call))])
        assert path.calls(wanted, known) == [ToolCall("search_product_by_name", {"name": "Mug"})]


@pytest.mark.parametrize(
    ("told", "name", "zip_code"),
    [
        ("You are Yusuf Rossi in 19122. You want New York things.", "Yusuf Rossi", "19122"),
        (
            "Ship it to San Diego, CA 92101.\nMy name is Mia O'Neil-Ray.\nzip: 10001",
            "Mia O'Neil-Ray",
            "10001",
        ),
        ("You are mei_kovacs_8020 living in San Jose, zipcode 28236.", "Mei Kovacs", "28236"),
        ("I'm Chen Li, order #W28236 for 12345678, in 00501", "Chen Li", "00501"),
    ],
)
def test_names_and_zips_in_what_users_say(told: str, name: str, zip_code: str) -> None:
    path = next(p for p in PATHS if p.target == "find_user_id_by_name_zip")
    calls = path.calls({}, Knowledge([told]))
    first, _, last = name.partition(" ")
    expected = {"first_name": first, "last_name": last, "zip": zip_code}
    assert calls == [ToolCall("find_user_id_by_name_zip", expected)]


@pytest.mark.parametrize(
    "told",
    [
        "Send it to New York, 10001.",
        "I am Ann Roe in 80001. Send it to New York, 10001.",
        "I am Ann",
    ],
)
def test_names_and_zips_are_not_guessed(told: str) -> None:
    path = next(p for p in PATHS if p.target == "find_user_id_by_name_zip")
    assert path.calls({}, Knowledge([told])) is None
    assert path.ask


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "order_id",
                    "user_id",
                    "items",
                    "orders",
                    "name",
                    "product_id",
                    "variants",
                    "options",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(data=st.data(), path=st.sampled_from(PATHS))
def test_corrupted_results_are_read_as_nothing_or_something_never_with_an_error(
    domain: RetailDomain, data: st.DataObject, path: FallbackPath
) -> None:
    session = domain.session(domain.task("0"), alternatives=True)
    known = everything(session)
    known.results.append((ToolCall("get_order_details", {}), data.draw(_json)))
    arguments = data.draw(st.sampled_from(ARGUMENTS[path.source]) | st.just({}))
    path.calls(arguments, known)
    path.read(arguments, data.draw(st.lists(_json, min_size=1, max_size=3)))
    assert path.read(arguments, ["Error: request timed out after 30s"] * 2) is None


def test_reading_does_not_change_what_was_observed(session: RetailSession) -> None:
    known = everything(session)
    before = orjson.dumps(known.results, default=list)
    for path in PATHS:
        for arguments in ARGUMENTS[path.source]:
            calls = path.calls(arguments, known) or []
            path.read(arguments, [run(session, call) for call in calls])
    assert orjson.dumps(known.results, default=list) == before
