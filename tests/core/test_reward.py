from __future__ import annotations

import pytest

from bench2robust.core.backend import LogEntry
from bench2robust.core.domain import Outcome
from bench2robust.core.reward import (
    abstention_credit,
    efficiency,
    partial_credit,
    repeated_after_success,
    repetition,
)
from bench2robust.core.types import ToolCall, ToolResult


def call(name: str = "get", **arguments: object) -> ToolCall:
    return ToolCall(name, dict(arguments))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(0, 1.0), (12, 1.0), (13, 0.98), (22, 0.8), (25, 0.74), (47, 0.3), (48, 0.3), (500, 0.3)],
)
def test_efficiency_by_hand(turns: int, expected: float) -> None:
    assert efficiency(turns) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("times", "expected"), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 0.5), (4, 0.0), (9, 0.0)]
)
def test_repetition_follows_table_12(times: int, expected: float) -> None:
    assert repetition([call(id="a"), *[call(id="b")] * times]) == expected


def test_identical_means_canonical_arguments_over_the_whole_episode() -> None:
    one = [ToolCall("f", {"a": 1, "b": 2}), call(), ToolCall("f", {"b": 2, "a": 1})]
    assert repetition([*one, ToolCall("f", {"a": 1, "b": 2})]) == 0.5
    others = [ToolCall("f", {"a": True}), ToolCall("f", {"a": 1}), ToolCall("g", {"a": 1})]
    assert repetition([*others, ToolCall("f", {"a": 1.0})]) == 1.0


def test_partial_credit_by_hand() -> None:
    three, four = [call()] * 3, [call()] * 4
    done = Outcome(True, True, True, 2, 4)
    assert partial_credit(done, 10, []) == 1.0
    assert partial_credit(done, 15, three) == pytest.approx(0.94 * 0.5)
    assert partial_credit(done, 15, four) == 0.0
    failed = Outcome(False, False, True, 3, 4)
    assert partial_credit(failed, 25, []) == pytest.approx(0.3 * 3 / 4)
    assert partial_credit(failed, 25, three) == pytest.approx(0.1125)
    assert partial_credit(failed, 25, four) == 0.0
    assert partial_credit(Outcome(False, False, False, 0, 0), 3, []) == 0.0


def test_abstention_earns_efficiency_times_repetition() -> None:
    assert abstention_credit(10, []) == 1.0
    assert abstention_credit(15, [call()] * 3) == pytest.approx(0.94 * 0.5)
    assert abstention_credit(15, [call()] * 4) == 0.0


def entries(*signs: str) -> list[LogEntry]:
    """Return one call made again and again; ``x`` came back with an error."""
    return [LogEntry(call(id="a"), ToolResult("", sign == "x")) for sign in signs]


@pytest.mark.parametrize(
    ("signs", "counted"),
    [("", 0), ("xx.", 1), ("xxx", 0), (".x.", 3), ("xx...", 3), ("....", 4)],
)
def test_repeats_after_success_by_hand(signs: str, counted: int) -> None:
    assert len(repeated_after_success(entries(*signs))) == counted


def test_two_correct_retries_cost_half_by_table_12_and_nothing_by_the_alternative() -> None:
    log = entries("x", "x", ".")
    assert repetition(entry.call for entry in log) == 0.5
    assert repetition(repeated_after_success(log)) == 1.0


def test_success_of_one_call_does_not_count_another() -> None:
    other = LogEntry(call(id="b"), ToolResult("", True))
    assert repeated_after_success([*entries("."), other, other]) == [call(id="a")]
