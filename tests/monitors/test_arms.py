"""The arms around a backend of three tools, with a monitor that anyone can follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.fallback import FallbackClass, FallbackPath
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.monitors.arms import ARMS, make_arm
from bench2robust.monitors.receipts import open_receipt
from bench2robust.monitors.recovery import load_substitutes, recovery_tools, substitutes_of
from bench2robust.monitors.violation import Violation


def spec(name: str, kind: str = "read", required: Sequence[str] = ("key",)) -> ToolSpec:
    return ToolSpec(name, name, {"type": "object", "required": list(required)}, kind)  # type: ignore[arg-type]


class Till:
    """Answers what it was told to answer next; only what a backend must have is there."""

    __slots__ = ("answers", "ran")
    tools = (spec("look"), spec("look_by_name", required=("name",)), spec("pay", "write"))
    revision = 0

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.ran: list[ToolCall] = []

    def call(self, call: ToolCall) -> ToolResult:
        self.ran.append(call)
        content = self.answers.pop(0)
        return ToolResult(content, content.startswith("Error:"))


class Positive:
    """Knows that ``look`` and ``pay`` return a positive sum."""

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        if call.name not in ("look", "pay"):
            return ()
        value = json.loads(result.content)
        codes = []
        if "sum" not in value:
            codes.append("missing_learned_field")
        elif value["sum"] <= 0:
            codes.append("nonpositive_value")
        return tuple(Violation(c, "/sum", "> 0", value.get("sum"), c) for c in codes)

    def covers(self, tool: str) -> bool:
        return tool != "look_by_name"


SUBSTITUTES = {"look": ("look_by_name", "gone"), "look_by_name": ("look",)}
GOOD, BAD, LACKING = '{"sum": 3, "name": "ann"}', '{"sum": -3, "name": "ann"}', '{"name": "ann"}'
LOOK, PAY = ToolCall("look", {"key": "k"}), ToolCall("pay", {"key": "k"})


def delivered(arm: str, *answers: str, call: ToolCall = LOOK) -> list[str]:
    made = make_arm(arm, Till(*answers), Positive(), SUBSTITUTES)
    return [made.call(call).content for _ in answers]


def test_every_arm_keeps_the_raw_result() -> None:
    for name in ARMS:
        for answer in (GOOD, BAD, LACKING):
            made = make_arm(name, Till(answer, GOOD), Positive(), SUBSTITUTES)
            content = made.call(LOOK).content
            assert open_receipt(content).raw == answer
            (check,) = made.checks
            assert check.raw.content == answer
            assert check.delivered == content


def test_the_baseline_checks_and_says_nothing() -> None:
    made = make_arm("baseline", Till(GOOD, BAD), Positive(), SUBSTITUTES)
    assert [made.call(LOOK).content for _ in range(2)] == [GOOD, BAD]
    assert [[v.code for v in c.violations] for c in made.checks] == [[], ["nonpositive_value"]]
    assert not any(check.warned for check in made.checks)


@pytest.mark.parametrize("arm", ["advisory", "advisory_v1", "advisory_text", "generic"])
def test_warnings_come_with_violations_only(arm: str) -> None:
    contents = delivered(arm, GOOD, BAD, GOOD, LACKING)
    assert [open_receipt(c).receipt is not None for c in contents] == [False, True, False, True]


def test_the_schema_arm_knows_types_and_fields_only() -> None:
    contents = delivered("schema", BAD, LACKING)
    assert [open_receipt(c).receipt is not None for c in contents] == [False, True]


def test_always_warn_warns_always() -> None:
    for content in delivered("always_warn", GOOD, BAD, "Error: no such key"):
        receipt = json.loads(content)["outcome_contract"]
        assert receipt["admissible_recovery_tools"] == ["look", "look_by_name"]
    for content in delivered("always_warn_stripped", GOOD, BAD):
        assert list(json.loads(content)["outcome_contract"]) == ["status", "violation"]


def test_warned_arms_deliver_the_same_bytes() -> None:
    """Generic, placebo and always-warn differ in when they warn, never in what they say."""
    (generic,), (always,) = delivered("generic", BAD), delivered("always_warn", BAD)
    assert generic == always
    _, placebo = delivered("placebo", BAD, GOOD)
    (always_good,) = delivered("always_warn", GOOD)
    assert placebo == always_good
    (stripped,) = delivered("always_warn_stripped", BAD)
    tools = ', "admissible_recovery_tools": ["look", "look_by_name"]'
    assert stripped == generic.replace(tools, "")


@pytest.mark.parametrize(
    ("answers", "warned", "pending"),
    [
        ((GOOD, GOOD), [0, 0], 0),
        ((BAD, GOOD, GOOD), [0, 1, 0], 0),
        ((BAD, BAD, GOOD, GOOD, GOOD), [0, 0, 1, 1, 0], 0),
        ((BAD, "Error: down", GOOD), [0, 0, 1], 0),
        ((GOOD, BAD), [0, 0], 1),
        ((BAD, GOOD, BAD, BAD), [0, 1, 0, 0], 2),
    ],
)
def test_the_placebo_warns_on_the_next_sound_result(
    answers: tuple[str, ...], warned: list[int], pending: int
) -> None:
    made = make_arm("placebo", Till(*answers), Positive(), SUBSTITUTES)
    contents = [made.call(LOOK).content for _ in answers]
    assert [open_receipt(c).receipt is not None for c in contents] == [bool(w) for w in warned]
    assert [check.warned for check in made.checks] == [bool(w) for w in warned]
    assert made.pending == pending


def test_always_verify_reads_twice_and_writes_once() -> None:
    till = Till(GOOD, '{"sum": 4}', GOOD)
    made = make_arm("always_verify", till, Positive(), SUBSTITUTES)
    both = json.loads(made.call(LOOK).content)
    assert both == {
        "tool_result": {"sum": 3, "name": "ann"},
        "verification": {"tool": "look_by_name", "result": {"sum": 4}},
    }
    assert made.call(PAY).content == GOOD
    assert till.ran == [LOOK, ToolCall("look_by_name", {"name": "ann"}), PAY]
    assert [check.calls for check in made.checks] == [2, 1]


def test_always_verify_makes_no_call_that_it_cannot_form() -> None:
    till = Till('{"sum": 3}')
    made = make_arm("always_verify", till, Positive(), SUBSTITUTES)
    assert made.call(LOOK).content == '{"sum": 3}'
    assert till.ran == [LOOK]


def test_explicit_errors_are_not_checked() -> None:
    made = make_arm("advisory", Till("Error: down"), Positive(), SUBSTITUTES)
    assert made.call(LOOK) == ToolResult("Error: down", True)
    assert made.checks[0].violations == ()


def test_the_ledger_tells_what_was_seen() -> None:
    made = make_arm("advisory", Till(BAD, GOOD), Positive(), SUBSTITUTES)
    made.call(LOOK)
    made.call(ToolCall("look_by_name", {"name": "ann"}))
    first, second = made.checks
    assert (first.covered, second.covered) == (True, False)
    assert first.recovery == ("look", "look_by_name")
    assert first.raw_sha256 != first.delivered_sha256
    assert second.raw_sha256 == second.delivered_sha256
    assert first.arguments_sha256 != second.arguments_sha256


def test_a_receipt_depends_on_the_call_and_the_delivered_result_alone() -> None:
    """Two backends that deliver the same, for whatever reason, get the same bytes."""

    class Injected(Till):
        """Knows what it did wrong, and would tell."""

        __slots__ = ("events", "last", "plan")

        def call(self, call: ToolCall) -> ToolResult:
            self.events = self.last = self.plan = "the answer"
            return super().call(call)

    for name in ARMS:
        for answers in ((BAD, GOOD, GOOD), (GOOD, LACKING, GOOD)):
            plain = make_arm(name, Till(*answers), Positive(), SUBSTITUTES)
            injected = make_arm(name, Injected(*answers), Positive(), SUBSTITUTES)
            assert plain.call(LOOK) == injected.call(LOOK)
            assert plain.checks == injected.checks


def test_an_unknown_arm_gets_the_nearest_names() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'advisory'"):
        make_arm("advisery", Till(), Positive())


def test_recovery_tools_are_advertised_substitutes() -> None:
    assert recovery_tools("look", SUBSTITUTES, Till.tools, itself=True) == ("look", "look_by_name")
    assert recovery_tools("look", SUBSTITUTES, Till.tools, itself=False) == ("look_by_name",)
    assert recovery_tools("look", SUBSTITUTES, Till.tools[2:], itself=True) == ()
    assert recovery_tools("unheard", SUBSTITUTES, Till.tools, itself=True) == ()


def test_substitutes_of_fallback_classes() -> None:
    path = FallbackPath("a", "c", "all", "", lambda a, k: None, lambda a, r: None)
    found = substitutes_of((FallbackClass("x", ("a", "b", "c"), (path,)),))
    assert found == {"a": ("c", "b"), "b": ("a", "c"), "c": ("a", "b")}


def test_substitutes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "subs.json"
    file.write_text('{"look": ["look_by_name"]}')
    assert load_substitutes(file) == {"look": ("look_by_name",)}
    for text, word in (("[]", "object"), ('{"a": "b"}', "list of tool names"), ("{", "read")):
        file.write_text(text)
        with pytest.raises(DataError, match=word):
            load_substitutes(file)
    with pytest.raises(DataError, match="read"):
        load_substitutes(tmp_path / "none.json")
