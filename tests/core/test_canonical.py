"""Canonical JSON: one text per value, nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.canonical import canonical, parse_json, parse_result, same_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_canonical_never_raises_and_is_stable(value: object) -> None:
    assert canonical(value) == canonical(value)


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@pytest.mark.parametrize(
    ("a", "b"),
    [(True, 1), (False, 0), (0.0, -0.0), (1, 1.0), (None, float("nan")), ("1", 1), ([], {})],
)
def test_values_that_python_mixes_up_are_kept_apart(a: object, b: object) -> None:
    assert not same_json(a, b)
    assert not same_json({"x": [a]}, {"x": [b]})


@pytest.mark.parametrize("value", [float("nan"), 10**400, "\ud800", float("inf"), {1, 2}])
def test_what_json_cannot_hold_still_has_one_text(value: object) -> None:
    assert canonical([value]) == canonical([value])


def test_a_value_that_contains_itself_has_a_text_too() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert canonical(loop) == canonical(loop)


@pytest.mark.parametrize("text", ["", "{", "[" * 5000 + "]" * 5000, "nope", "1" * 2_000_000])
def test_bad_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_results_parse_only_when_they_are_objects_or_lists() -> None:
    assert parse_result('{"a": 1}') == {"a": 1}
    assert parse_result("12") == "12"
    assert parse_result("{not json") == "{not json"


@given(JSON)
def test_canonical_text_of_plain_values_is_json(value: object) -> None:
    json.loads(canonical(value))
