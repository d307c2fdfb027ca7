"""Incident faults: exact differences, eligibility, determinism, and nothing else touched."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.canonical import canonical
from bench2robust.core.faults import FAULT_TYPES
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors import Context, Corruption, get_kernel, load_profile
from bench2robust.injectors.kernels import incidents
from bench2robust.injectors.kernels.incidents.payload import ALERT, ERROR_PAGE

NAMES = [kernel.name for kernel in incidents.KERNELS]
STATES = ("pending", "processed", "delivered")
FIELDS = ResultFields(
    states=((("status",), STATES),),
    amounts=(("items", "*", "price"), ("payments", "*", "amount")),
)
ORDER: dict[str, Any] = {
    "order_id": "#W0012",
    "user_id": "mei_1944",
    "status": "delivered",
    "placed": "2026-03-01T10:00:00Z",
    "note": "Please ring twice and leave it by the door.",
    "gift": False,
    "available": False,
    "item_count": 2,
    "items": [
        {"item_id": "1122334455", "name": "lamp", "price": 54.2},
        {"item_id": "5544332211", "name": "desk", "price": 120.0},
    ],
    "payments": [{"type": "payment", "amount": 174.2}],
}


def context(value: Any, fields: ResultFields = FIELDS) -> Context:
    spec = ToolSpec("get_order", "", {"type": "object"}, "read", fields)
    content = value if isinstance(value, str) else orjson.dumps(value).decode()
    call = ToolCall("get_order", {"order_id": "#W0012"})
    return Context(spec, call, ToolResult(content), None, 7, "task_1", 0)


def corrupt(name: str, value: Any = ORDER, **more: Any) -> Corruption | None:
    return get_kernel(name).corrupt(context(value, **more))


def changes(name: str, value: Any = ORDER, **more: Any) -> dict[str, Any]:
    made = corrupt(name, value, **more)
    return {".".join(map(str, c.path)): c.after for c in made.changes} if made else {}


def test_vacuum() -> None:
    assert changes("vacuous_exec_swallow") == {
        "order_id": "",
        "user_id": "",
        "status": "ok",
        "placed": "",
        "note": "",
        "item_count": 0,
        "items": [],
        "payments": [],
    }
    assert changes("vacuous_exec_swallow", {"a": {"success": False, "code": 500, "x": 1.5}}) == {
        "a.success": True,
        "a.code": 200,
        "a.x": 0.0,
    }
    assert corrupt("vacuous_exec_swallow", {"a": 1, "b": ""}) is None  # one change is not enough


def test_shift() -> None:
    made = changes("positional_field_shift")
    assert made == {
        "user_id": "delivered",
        "status": "2026-03-01T10:00:00Z",
        "placed": ORDER["note"],
        "note": False,
        "available": 2,
        "item_count": "---",
    }  # gift stays False: its neighbour was False too
    assert changes("positional_field_shift", [{"a": 1}, {"b": [1], "x": 1, "y": 2, "z": 3}]) == {
        "1.y": 3,
        "1.z": "---",
    }
    assert corrupt("positional_field_shift", {"a": 1, "b": 2}) is None


def test_stale_state() -> None:
    assert changes("stale_declared_state") == {
        "status": "registered",
        "placed": "2025-12-31T10:00:00Z",
        "available": True,
        "item_count": 0,
    }
    assert changes("stale_declared_state", {"a_status": "registered", "b_status": "x"}) == {
        "a_status": "ok"
    }
    assert corrupt("stale_declared_state", {"item_count": 5, "state": "NY"}) is None


def test_payloads() -> None:
    assert changes("cause_stripped_http_payload") == {"note": "HTTP 502: Bad Gateway"}
    assert changes("error_page_as_payload") == {"note": ERROR_PAGE}
    assert changes("context_pollution_fabrication") == {"note": ORDER["note"] + ALERT}
    assert len(ERROR_PAGE.encode()) == 456


def test_content_is_prose_or_else_the_longest_text_that_is_no_id_and_no_state() -> None:
    name = "cause_stripped_http_payload"
    assert list(changes(name, {"item_id": "1122334455", "status": "delivered", "a": "xy"})) == ["a"]
    assert list(changes(name, {"a": "xyz", "b": "uvw"})) == ["a"]  # ties: the first
    assert corrupt(name, {"item_id": "1122334455", "status": "delivered", "n": 5}) is None
    assert corrupt(name, "mei_1944") is None
    made = corrupt(name, "It is a long text with words.")
    assert made is not None
    assert made.content == "HTTP 502: Bad Gateway"


def test_reference() -> None:
    assert changes("ref_id_substitution") == {"order_id": "#W3345"}
    pair = {"product_id": "11", "a": {"item_id": "222"}, "b": {"item_id": "33"}}
    assert changes("ref_id_substitution", pair) == {"product_id": "33", "b.item_id": "11"}
    assert changes("ref_id_substitution", {"id": 1200}) == {"id": 4533}
    assert corrupt("ref_id_substitution", {"id": "a1", "price": 1200}) is None  # one digit


def test_truncation() -> None:
    note = ORDER["note"]
    assert changes("env_threshold_truncation") == {"note": note[: len(note) * 3 // 5]}
    long = "a b c " * 1000
    assert changes("env_threshold_truncation", {"t": long}) == {"t": long[:4000]}
    assert corrupt("env_threshold_truncation", {"t": "a b c d e f g h"}) is None
    assert changes("env_threshold_truncation_list") == {"items": ORDER["items"][:1]}
    assert corrupt("env_threshold_truncation_list", {"a": [1]}) is None
    assert corrupt("env_threshold_truncation_list", "text") is None


def test_status_out_of_set() -> None:
    assert changes("status_out_of_set") == {"status": "in_limbo"}
    assert changes("status_out_of_set", {"job_status": "up"}, fields=ResultFields()) == {
        "job_status": "in_limbo"
    }
    assert corrupt("status_out_of_set", {"a": "up"}) is None


def test_broken_conservation() -> None:
    ((path, after),) = changes("broken_conservation").items()
    assert path == "items.0.price"
    assert 0.1 <= abs(after - 54.2) / 54.2 <= 0.25
    cancelled = {**ORDER, "payments": [{"amount": 174.2}, {"amount": 174.2}]}
    assert corrupt("broken_conservation", cancelled) is None  # there is no equal sum to break


def test_missing_field_and_type_flip() -> None:
    made = corrupt("missing_field")
    assert made is not None
    (change,) = made.changes
    assert change.after is None
    assert json.loads(made.content) == {k: v for k, v in ORDER.items() if k != change.path[0]}
    ((path, after),) = changes("type_flip").items()
    assert type(after) is not type(ORDER[path])
    assert corrupt("missing_field", {"a": 1}) is None


@pytest.mark.parametrize("name", NAMES)
def test_only_the_changed_fields_differ(name: str) -> None:
    made = corrupt(name)
    assert made is not None
    assert not made.is_error
    before, after = ORDER, json.loads(made.content)
    again: Any = orjson.loads(orjson.dumps(before))
    for change in made.changes:
        holder = again
        for step in change.path[:-1]:
            holder = holder[step]
        assert canonical(holder[change.path[-1]]) == canonical(change.before)
        if name == "missing_field":
            del holder[change.path[-1]]
        else:
            holder[change.path[-1]] = change.after
    assert canonical(again) == canonical(after)
    assert made == corrupt(name)  # the same once more


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["status", "id", "ok", "n", "x", "items"]), inner)
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from(NAMES))
def test_any_result_is_declined_or_changed(value: Any, name: str) -> None:
    content = orjson.dumps(value).decode()
    made = corrupt(name, content)
    if made is not None:
        assert made.changes
        assert made.content != content
        assert all(
            canonical(c.before) != canonical(c.after) or c.after is None for c in made.changes
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", ["", "[" * 5000, '{"a":' * 900 + "1" + "}" * 900, "null", "{}"])
def test_strange_results_are_declined(name: str, content: str) -> None:
    assert corrupt(name, content) is None


def test_the_profile_injects_one_incident_an_episode(inject: Any) -> None:
    injector, shop = inject("incidents")
    truth = shop.call(ToolCall("get_order", {})).content
    contents = [injector.call(ToolCall("get_order", {})).content for _ in range(6)]
    assert sum(content != truth for content in contents) == 1
    assert next(e.delivered for e in injector.events if e.delivered) in NAMES
    assert set(load_profile("incidents").probabilities) <= set(NAMES)


def test_the_name_of_a_fault_is_the_profile_of_that_fault_alone(inject: Any) -> None:
    injector, _ = inject("status_out_of_set")
    contents = [injector.call(ToolCall(t, {})).content for t in ("find_user", "get_order") * 2]
    assert ["in_limbo" in content for content in contents] == [False, True, False, False]
    assert [e.delivered for e in injector.events] == [None, "status_out_of_set"]
    assert load_profile("timeout").probabilities == {"timeout": 1.0}


def test_incidents_are_silent_and_named_apart() -> None:
    assert not set(NAMES) & set(FAULT_TYPES)
    assert len(set(NAMES)) == len(NAMES) == 13
    for name in NAMES:
        assert not get_kernel(name).observable
        assert get_kernel(name).summary.endswith(".")
