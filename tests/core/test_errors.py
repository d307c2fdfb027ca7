"""Errors name the value and the way out."""

from __future__ import annotations

from bench2robust.core.errors import UnknownNameError, UsageError, nearest, shown


def test_an_unknown_name_lists_the_nearest() -> None:
    error = UnknownNameError("split", "tset", ["train", "test"])
    assert isinstance(error, UsageError)
    assert str(error) == "Unknown split 'tset'. Did you mean 'test'? Known: test, train."


def test_long_lists_are_cut() -> None:
    text = str(UnknownNameError("task", "x" * 1000, [f"t{n}" for n in range(100)]))
    assert "100 in all" in text
    assert len(text) < 600


def test_nearest_ignores_case() -> None:
    assert nearest("PAPER", ["paper", "realistic"]) == ["paper"]


def test_any_value_is_shown_in_bounds() -> None:
    bomb: object = "x"
    for _ in range(40):
        bomb = [bomb] * 10
    deep: object = None
    for _ in range(100_000):
        deep = [deep]
    for value in (bomb, deep, "x" * 10**6, 10**5000, {"k": bomb}, dict.fromkeys(range(10**4))):
        assert len(shown(value)) <= 200
    assert (shown("a"), shown(3), shown(True), shown([0.1])) == ("'a'", "3", "True", "[0.1]")
