from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.types import ToolCall, ToolSpec
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.specs import ALTERNATIVE_SPECS, STOCK_SPECS

SPECS = (*STOCK_SPECS, *ALTERNATIVE_SPECS)
KNOWN = {
    "order_id": [f"#W1000{i}" for i in range(1, 6)],
    "user_id": [f"ann_roe_{i * 1111}" for i in (1, 2, 3)],
    "product_id": ["1000000000", "2000000000"],
    "item_id": ["1000000001", "2000000002"],
    "payment_method_id": ["gift_card_1", "paypal_1", "credit_card_1"],
    "reason": ["no longer needed", "ordered by mistake"],
    "zip": ["80001", "80003"],
    "first_name": ["Ann"],
    "last_name": ["Roe"],
    "email": ["ann@example.com"],
    "name": ["Mug"],
    "product_name": ["Mug"],
    "expression": ["1 + 1"],
}
_items = st.sampled_from([f"100000000{i}" for i in range(1, 5)] + ["2000000001", "2000000002"])
_any_text = st.text(st.characters(exclude_categories=()), max_size=8)
_any_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | _any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_any_text, inner, max_size=3),
    max_leaves=6,
)


def _value(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A value that the tool may well accept."""
    if schema["type"] == "array":
        return st.lists(_items, max_size=3)
    if schema["type"] == "object":
        return st.just({"size": "small"}) | st.dictionaries(_any_text, _any_text, max_size=2)
    return st.sampled_from(KNOWN[name]) if name in KNOWN else _any_text


def _arguments(spec: ToolSpec) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {name: _value(name, schema) for name, schema in spec.parameters["properties"].items()}
    )


_plausible = st.one_of(
    [st.builds(ToolCall, st.just(spec.name), _arguments(spec)) for spec in SPECS]
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_arguments_are_sent_the_tool_answers(
    domain: RetailDomain, spec: ToolSpec, data: st.DataObject
) -> None:
    wrong = st.fixed_dictionaries(dict.fromkeys(spec.parameters["properties"], _any_json))
    arguments = data.draw(_arguments(spec) | wrong | _any_json)
    session = domain.session(domain.task("0"), alternatives=True)
    result = session.call(ToolCall(spec.name, arguments))
    assert result.content.encode()
    assert result.is_error == result.content.startswith("Error: ")
    if result.is_error or spec.kind != "write":
        assert (session.revision, session.delta()) == (0, {})


@given(name=_any_json, arguments=_any_json)
def test_whatever_name_is_sent_the_session_answers(
    domain: RetailDomain, name: Any, arguments: Any
) -> None:
    session = domain.session(domain.task("0"))
    result = session.call(ToolCall(name, arguments))
    assert result.is_error
    assert result.content.encode()


@given(st.lists(_plausible, max_size=12))
def test_the_base_is_never_changed(domain: RetailDomain, calls: list[ToolCall]) -> None:
    before = dict(domain.base.texts)
    session = domain.session(domain.task("0"), alternatives=True)
    for call in calls:
        session.call(call)
    assert dict(domain.base.texts) == before
    assert all(text != before[path] for path, text in session.delta().items())


@given(
    st.lists(_plausible, max_size=8).flatmap(lambda c: st.tuples(st.just(c), st.permutations(c)))
)
def test_deltas_are_equal_exactly_when_the_states_are(
    domain: RetailDomain, orders: tuple[list[ToolCall], list[ToolCall]]
) -> None:
    def run(calls: list[ToolCall]) -> tuple[dict[str, str], dict[str, Any]]:
        session = domain.session(domain.task("0"), alternatives=True)
        for call in calls:
            session.call(call)
        texts = {**domain.base.texts, **session.state.changed}
        return session.delta(), {path: orjson.loads(text) for path, text in texts.items()}

    (delta_one, state_one), (delta_two, state_two) = map(run, orders)
    assert (delta_one == delta_two) == (state_one == state_two)


@given(st.lists(_plausible, max_size=12))
def test_reads_see_every_write_and_a_replay_gives_the_same(
    domain: RetailDomain, calls: list[ToolCall]
) -> None:
    first, second = (domain.session(domain.task("0"), alternatives=True) for _ in range(2))
    assert [first.call(c) for c in calls] == [second.call(c) for c in calls]
    for path, text in first.delta().items():
        kind, _, key = path.partition("/")
        read = ToolCall(f"get_{kind[:-1]}_details", {f"{kind[:-1]}_id": key})
        assert second.call(read).content == text
