"""Calls as Python text are parsed, never evaluated."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl.calls import read_call, write_call

NAMES = {"sort": ("file_name",), "mv": ("source", "destination"), "power": ("base", "exponent")}

HOSTILE = (
    "__import__('os').system('touch PWNED')",
    "sort(__import__('os').system('touch PWNED'))",
    "sort(file_name=open('PWNED', 'w').write('x'))",
    "sort.__globals__['os'].system('touch PWNED')",
    "(lambda: open('PWNED', 'w'))()",
    "[sort('a') for _ in range(10**9)]",
    'sort(f\'{open("PWNED", "w")}\')',
    "exec('import os')",
    "getattr(sort, '__class__')('x')",
    "sort('a'); mv('a', 'b')",
    "sort('a')\nmv('a', 'b')",
    "power(9**9**9, 2)",
    "power(base=-(-(-1)), exponent=())()",
    "sort(*['a'])",
    "sort(**{'file_name': 'a'})",
    "sort('a', file_name='b')",
    "sort('a', 'b')",
    "sort(b'a')",
    "sort({'a', 'b'})",
    "sort({1: 2})",
    "sort(...)",
    "sort(" + "[" * 5000 + "]" * 5000 + ")",
    "sort(" + "(" * 150 + "1" + ")" * 150 + "",
    "sort('" + "a" * 30_000 + "')",
    "sort('\x00')\x00",
    "rm(file_name='a')",
    "sort",
    "",
    "   ",
    "sort(file_name=[" + "[" * 120 + "]" * 120 + "])",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_refused_and_run_nothing(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError):
        read_call(text, NAMES)
    assert not list(tmp_path.iterdir())


def test_positional_arguments_get_their_names() -> None:
    assert read_call("mv('a', destination='b')", NAMES) == ToolCall(
        "mv", {"source": "a", "destination": "b"}
    )
    assert read_call("power(-2.5, (1, [None, True]))", NAMES) == ToolCall(
        "power", {"base": -2.5, "exponent": [1, [None, True]]}
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(JSON, JSON)
def test_what_is_written_is_read_again(source: object, destination: object) -> None:
    call = ToolCall("mv", {"source": source, "destination": destination})
    assert read_call(write_call(call), NAMES) == call


@given(st.text(max_size=200))
def test_any_text_is_a_call_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert read_call(text, NAMES).name in NAMES
