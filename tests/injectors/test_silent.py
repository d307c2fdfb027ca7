"""Silent kernels: what they change, by how much, and what they leave alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.canonical import parse_result
from bench2robust.core.faults import SILENT
from bench2robust.core.paths import get
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors import Context, Corruption, get_kernel
from bench2robust.injectors.kernels.factual_error import moved
from bench2robust.injectors.kernels.relevance import qualifying

STATES = ("pending", "processed", "delivered")
ORDER: dict[str, Any] = {
    "order_id": "#Wé1",
    "status": "delivered",
    "user": {"id": "mei_1", "note": "", "age": 7},
    "items": [
        {"item_id": "11", "price": 54.2, "count": 20, "options": {"color": "red"}},
        {"item_id": "12", "price": 120.0, "count": 0, "options": {}},
    ],
}
TEXT = orjson.dumps(ORDER).decode()
FIELDS = ResultFields(
    contents=(("items", "*", "options"), ("user", "*"), ("order_id",), ("absent",)),
    states=((("status",), STATES),),
    amounts=(("items", "*", "price"), ("items", "*", "count"), ("user", "id")),
)
ROOT = ResultFields(contents=((),), amounts=((),))


def corrupt(
    fault: str, text: str = TEXT, fields: ResultFields = FIELDS, **more: Any
) -> Corruption | None:
    spec = ToolSpec("get_order", "", {}, "read", fields)
    call = ToolCall("get_order", more.pop("arguments", {"order_id": "#W1"}))
    values = {"needed": None, "seed": 3, "task_id": "task", "occasion": 0, **more}
    return get_kernel(fault).corrupt(Context(spec, call, ToolResult(text), **values))


def must(corruption: Corruption | None) -> Corruption:
    assert corruption is not None
    return corruption


@pytest.mark.parametrize("fault", SILENT)
def test_the_diff_says_exactly_what_changed(fault: str) -> None:
    corruption = must(corrupt(fault))
    assert not corruption.is_error
    seen = orjson.loads(corruption.content)
    expected = copy.deepcopy(ORDER)
    for path, before, after in corruption.changes:
        assert get(expected, path) == before
        assert get(seen, path) == after
        assert before != after
        holder = get(expected, path[:-1])
        holder[path[-1]] = after
    assert seen == expected
    assert (corruption.latency, corruption.retry_after) == (0.0, None)


@pytest.mark.parametrize("fault", SILENT)
def test_cached_results_are_never_changed(fault: str) -> None:
    shared = parse_result(TEXT)
    before = copy.deepcopy(shared)
    must(corrupt(fault))
    assert parse_result(TEXT) is shared
    assert shared == before


@pytest.mark.parametrize("fault", SILENT)
@pytest.mark.parametrize(
    "write",
    [
        lambda v: orjson.dumps(v).decode(),
        json.dumps,
        lambda v: json.dumps(v, ensure_ascii=False),
        lambda v: json.dumps(v, indent=2),
        lambda v: json.dumps(v, indent=2, ensure_ascii=False),
        lambda v: json.dumps(v, separators=(",", ":")),
    ],
)
def test_the_style_of_the_text_is_kept(fault: str, write: Callable[[Any], str]) -> None:
    corruption = must(corrupt(fault, write(ORDER)))
    assert corruption.content == write(orjson.loads(corruption.content))


@pytest.mark.parametrize("fault", SILENT)
def test_the_same_value_becomes_the_same_wrong_value(fault: str) -> None:
    first = must(corrupt(fault, occasion=0))
    assert all(corrupt(fault, occasion=n) == first for n in range(1, 6))
    reordered = [corrupt(fault, arguments=a) for a in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert reordered[0] == reordered[1]


@pytest.mark.parametrize("fault", ["stale", "factual_error"])
def test_other_keys_give_other_wrong_values(fault: str) -> None:
    seen = {must(corrupt(fault, arguments={"order_id": str(i)})).content for i in range(30)}
    assert len(seen) > 1
    assert len({must(corrupt(fault, seed=i)).content for i in range(30)}) > 1
    assert len({must(corrupt(fault, task_id=str(i))).content for i in range(30)}) > 1


@pytest.mark.parametrize("fault", SILENT)
@pytest.mark.parametrize("text", ["mei_1", "", "{not json", "[1, 2", '"quoted"'])
def test_bare_strings_are_not_eligible(fault: str, text: str) -> None:
    assert corrupt(fault, text) is None


# partial


def test_partial_empties_by_type_and_skips_what_is_empty_or_a_number() -> None:
    changes = must(corrupt("partial")).changes
    assert {c.path: c.after for c in changes} == {
        ("order_id",): "",
        ("user", "id"): "",
        ("items", 0, "options"): {},
    }


def test_partial_takes_outer_fields_first() -> None:
    fields = ResultFields(contents=(("items", "*", "options"), ("items",)))
    corruption = must(corrupt("partial", fields=fields))
    assert [(c.path, c.after) for c in corruption.changes] == [(("items",), [])]
    assert corruption.changes[0].before == ORDER["items"]


def test_partial_of_roots() -> None:
    assert must(corrupt("partial", '["a","b"]', ROOT)).content == "[]"
    assert must(corrupt("partial", '{"a":1}', ROOT)).content == "{}"
    assert must(corrupt("partial", "mei_1", ROOT)).content == ""
    assert corrupt("partial", "[]", ROOT) is None
    assert must(corrupt("partial", '["a"]', ROOT)).changes == (((), ["a"], []),)


# stale


@given(st.sampled_from(STATES[1:]), st.integers(0, 50))
def test_stale_moves_back_along_the_order(state: str, seed: int) -> None:
    text = json.dumps({"status": state})
    seen = json.loads(must(corrupt("stale", text, seed=seed)).content)["status"]
    assert STATES.index(seen) < STATES.index(state)


def test_stale_reaches_every_earlier_state() -> None:
    seen = {must(corrupt("stale", seed=i)).changes[0].after for i in range(50)}
    assert seen == {"pending", "processed"}


@pytest.mark.parametrize("state", ["pending", "lost", "", None, 3, ["delivered"], {}])
def test_stale_leaves_the_first_and_unknown_states(state: Any) -> None:
    assert corrupt("stale", json.dumps({"status": state})) is None


# factual_error


def test_factual_error_moves_amounts_and_keeps_their_type() -> None:
    changes = {c.path: c for c in must(corrupt("factual_error")).changes}
    assert changes.keys() == {("items", 0, "price"), ("items", 0, "count"), ("items", 1, "price")}
    assert isinstance(changes["items", 0, "count"].after, int)
    assert isinstance(changes["items", 1, "price"].after, float)


def test_each_place_has_a_wrong_value_of_its_own() -> None:
    fields = ResultFields(amounts=(("*",),))
    corruption = must(corrupt("factual_error", json.dumps([1000] * 20), fields))
    assert len(set(json.loads(corruption.content))) > 10


def test_factual_error_of_a_bare_number() -> None:
    corruption = must(corrupt("factual_error", "54.2", ROOT))
    assert corruption.content != "54.2"
    assert 0.10 <= abs(float(corruption.content) / 54.2 - 1) <= 0.25
    assert corruption.changes == (((), "54.2", corruption.content),)
    assert corrupt("factual_error", "54.2") is None  # the root is not among the amounts


@pytest.mark.parametrize("value", [0, 0.0, -0.0, "0.00", True, None, "12a", "1e5", "", 1e300, []])
def test_factual_error_leaves_zero_and_what_is_no_amount(value: Any) -> None:
    fields = ResultFields(amounts=(("n",),))
    assert corrupt("factual_error", json.dumps({"n": value}), fields) is None


NUMBERS = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-(10**6), 10**6, places=2).map(str),
    st.decimals(-10, 10, places=6).map(lambda d: format(d, "f")),
)


@given(NUMBERS, st.floats(0, 1, exclude_max=True))
def test_moved_stays_within_bounds(text: str, u: float) -> None:
    wrong = moved(text, u)
    x = Decimal(text)
    if x == 0:
        assert wrong is None
        return
    assert wrong is not None
    y = Decimal(wrong)
    assert y != x
    assert y.as_tuple().exponent == x.as_tuple().exponent
    unit = Decimal(1).scaleb(x.as_tuple().exponent)  # type: ignore[arg-type]
    if abs(x) <= 3 * unit:
        assert abs(y) - abs(x) == unit
    else:
        assert Decimal("0.10") <= abs(y - x) / abs(x) <= Decimal("0.25")


def test_moved_uses_the_whole_range() -> None:
    seen = {moved("100", i / 1000) for i in range(1000)}
    assert seen == {str(n) for n in (*range(75, 91), *range(110, 126))}


@given(st.floats(1e-6, 1e14), st.integers(0, 1000))
def test_floats_of_any_length_move_within_bounds(x: float, seed: int) -> None:
    fields = ResultFields(amounts=(("n",),))
    corruption = must(corrupt("factual_error", json.dumps({"n": x}), fields, seed=seed))
    y = json.loads(corruption.content)["n"]
    assert isinstance(y, float)
    assert y != x
    if int("".join(map(str, Decimal(repr(x)).as_tuple().digits))) > 3:
        assert 0.0999999 <= abs(y - x) / x <= 0.2500001


# what the task needs


def test_contents_qualify_by_prefix_and_the_rest_in_full() -> None:
    fields = ResultFields(
        contents=(("items",), ("items", "*", "options"), ("user",), ()),
        states=((("status",), STATES), (("items", "*", "state"), STATES)),
        amounts=(("items", "*", "price"), ("items", "*", "count"), ("items",)),
    )
    kept = qualifying(fields, (("items", 0, "price"), ("status",)))
    assert kept.contents == ((), ("items",))
    assert kept.states == ((("status",), STATES),)
    assert kept.amounts == (("items", "*", "price"),)
    assert qualifying(fields, ()) == ResultFields()
    everything = qualifying(fields, None)
    assert set(everything.contents) == set(fields.contents)
    assert (everything.states, everything.amounts) == (fields.states, fields.amounts)


@pytest.mark.parametrize("fault", SILENT)
def test_nothing_needed_means_not_eligible(fault: str) -> None:
    assert corrupt(fault, needed=()) is None
    assert corrupt(fault, needed=(("user", "age"),)) is None or fault == "partial"
