from __future__ import annotations

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.core.yaml_files import parse_yaml


def test_plain_values() -> None:
    assert parse_yaml("a: [1, 0.5, true, x]\nb: {c: null}", "f") == {
        "a": [1, 0.5, True, "x"],
        "b": {"c": None},
    }


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x", "a: &x {b: 1}\nc: {<<: *x}"])
def test_aliases_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^f, line 2, is not valid YAML: aliases"):
        parse_yaml(text, "f")


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3", "b:\n  a: {}\n  a: {}", "{c: {a: 1, a: 1}}"])
def test_a_name_that_is_given_twice_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"x\.yaml, line \d, .*'a' is given twice"):
        parse_yaml(text, "x.yaml")
    assert parse_yaml("[{a: 1}, {a: 2}]", "x.yaml") == [{"a": 1}, {"a": 2}]


def test_a_bomb_of_aliases_does_not_go_off() -> None:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(UsageError, match="line 2"):
        parse_yaml("\n".join(["a0: &a0 [x]", *rows]), "f")


@pytest.mark.parametrize(
    "value",
    ["2024-99-99", "0b_", "!!int abc", "!!float abc", "!!bool abc", "!!timestamp abc", "9" * 5000],
)
def test_values_that_do_not_fit_their_type(value: str) -> None:
    with pytest.raises(UsageError, match=r"^f, line 2, .* is no valid") as caught:
        parse_yaml(f"a: 1\nb: {value}\n", "f")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["[" * 3000, "{a: " * 3000])
def test_nesting_without_end(text: str) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_yaml(text, "f")
