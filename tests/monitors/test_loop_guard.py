from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.monitors.loop_guard import Loop, LoopDetector, LoopGuard, LoopRule

RESULT = ToolResult("{}")


class Echo:
    """Answers every call with how many came before."""

    tools = (ToolSpec("a", "", {}, "read"),)
    revision = 0

    def __init__(self) -> None:
        self.calls = 0

    def call(self, call: ToolCall) -> ToolResult:
        self.calls += 1
        return ToolResult(json.dumps({"n": self.calls}))


def loops(names: str, **rule: int) -> list[Loop | None]:
    detector = LoopDetector(LoopRule(**rule))
    return [detector.see(ToolCall(name, {}), RESULT) for name in names]


@given(st.lists(st.integers(), unique=True))
def test_different_calls_are_never_a_loop(numbers: list[int]) -> None:
    detector = LoopDetector()
    assert not any(detector.see(ToolCall("a", {"n": n}), RESULT) for n in numbers)


@given(st.text("abcd", max_size=40))
def test_a_repeat_is_found_exactly_when_a_window_holds_it_thrice(names: str) -> None:
    for step, loop in enumerate(loops(names)):
        times = names[max(0, step - 11) : step + 1].count(names[step])
        assert (loop is not None and loop.kind == "repeat") == (times >= 3)
        assert loop is None or loop.kind == "cycle" or loop.size == times


@given(st.text("abcdefgh", max_size=8, min_size=0), st.integers(2, 4))
def test_a_round_of_different_calls_made_twice_is_a_cycle(before: str, length: int) -> None:
    round_ = "wxyz"[:length]
    found = loops(before + round_ * 2)
    assert found[-1] == Loop(len(before) + 2 * length - 1, "cycle", round_[-1], length)
    assert not any(found[len(before) : -1])


def test_a_longer_round_and_one_plain_retry_are_no_loop() -> None:
    assert not any(loops("abcdeabcde"))
    assert not any(loops("aabbcc"))
    assert not any(loops("aaaa", repeats=5)), "one call alone is no round"


def test_calls_that_left_the_window_are_forgotten() -> None:
    assert not any(loops("aa" + "bcdefghijklm" + "a"))
    assert loops("aa" + "bcdefghij" + "a")[-1] is not None


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_arguments_does_not_matter(arguments: dict[str, int]) -> None:
    detector = LoopDetector()
    turned = dict(reversed(arguments.items()))
    calls = [ToolCall("a", arguments), ToolCall("a", turned), ToolCall("a", arguments)]
    assert [bool(detector.see(call, RESULT)) for call in calls] == [False, False, True]
    assert LoopDetector().see(ToolCall("a", {"x": "\ud800", "y": float("nan")}), RESULT) is None


def test_names_and_arguments_cannot_be_shifted_into_one_another() -> None:
    detector = LoopDetector()
    for call in (ToolCall("a", {}), ToolCall("a{}", {}), ToolCall("a\0", {})):
        assert detector.see(call, RESULT) is None


def test_with_results_only_no_new_information_is_a_loop() -> None:
    detector = LoopDetector(LoopRule(results=True))
    call = ToolCall("poll", {})
    waiting = [detector.see(call, ToolResult(str(n))) for n in range(6)]
    assert not any(waiting)
    assert [bool(detector.see(call, ToolResult("done"))) for _ in range(3)] == [False, False, True]


def test_the_guard_advises_and_keeps_the_raw_result() -> None:
    guard = LoopGuard(Echo())
    results = [guard.call(ToolCall("a", {})) for _ in range(4)]
    assert results[1].content == '{"n": 2}'
    assert results[2].content.startswith("{\"n\": 3}\n\n[LOOP ADVISORY] 'a' was called 3 times")
    assert len(guard.loops) == 2 and guard.refused == 0 and guard.tools == Echo.tools


def test_the_cap_is_hard_and_off_by_default() -> None:
    echo = Echo()
    guard = LoopGuard(echo, cap=2, tell=lambda result, loop: result)
    results = [guard.call(ToolCall("a", {"n": n})) for n in range(4)]
    assert [r.is_error for r in results] == [False, False, True, True]
    assert echo.calls == 2 and guard.refused == 2
    free = LoopGuard(Echo())
    assert not any(free.call(ToolCall("a", {})).is_error for _ in range(200))


@pytest.mark.parametrize("rule", [{"repeats": 1}, {"period": 0}, {"window": 7}, {"window": 2}])
def test_rules_that_can_see_nothing_are_refused(rule: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="window"):
        LoopRule(**rule)
    with pytest.raises(UsageError, match="cap"):
        LoopGuard(Echo(), cap=0)
