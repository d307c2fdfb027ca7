"""Paths and patterns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.paths import MISSING, get, leaves, matches, show

VALUE = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(VALUE)
def test_every_leaf_is_found_at_its_path(value: object) -> None:
    for path, leaf in leaves(value):
        assert get(value, path) is leaf


def test_a_path_that_leads_nowhere_is_missing() -> None:
    value = {"a": [{"b": 1}]}
    for path in [("x",), ("a", 1), ("a", -1), ("a", "b"), ("a", 0, "b", "c")]:
        assert get(value, path) is MISSING


def test_patterns_match_prefixes() -> None:
    assert matches(("items", "*", "price"), ("items", 3, "price"))
    assert matches(("items",), ("items", 3, "price"))
    assert matches((), ("anything",))
    assert not matches(("items", "*", "price"), ("items", 3))
    assert not matches(("orders",), ("items", 3))


def test_show_reads_like_code() -> None:
    assert show(("items", 0, "price")) == "items[0].price"
    assert show(()) == "$"
