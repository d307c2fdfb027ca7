"""Plans make explicit which values an agent must have observed."""

from __future__ import annotations

import pytest

from bench2robust.core.dataflow import (
    MissingValueError,
    Reference,
    Template,
    Told,
    build_plan,
    references,
    resolve,
)
from bench2robust.core.paths import MISSING
from bench2robust.core.types import ResultFields, Task, ToolCall, ToolSpec, UserScript

READ = ToolSpec(
    "get_order", "", {}, "read", ResultFields(states=((("status",), ("pending", "delivered")),))
)
FIND = ToolSpec("find_user", "", {}, "read")
WRITE = ToolSpec("return_items", "", {}, "write")
CALC = ToolSpec("calculate", "", {}, "generic")
SPECS = {spec.name: spec for spec in (READ, FIND, WRITE, CALC)}

ORDER = {"id": "#W1", "status": "delivered", "items": [{"item_id": "77", "price": 12.5}]}
TASK = Task(
    "t",
    "test",
    "plain",
    UserScript("I am ann@x.com. Return the lamp from my order #W1, please."),
    (
        ToolCall("find_user", {"email": "ann@x.com"}),
        ToolCall("get_order", {"order_id": "#W1"}),
        ToolCall("calculate", {"expression": "12.50 + 3"}),
        ToolCall("return_items", {"order_id": "#W1", "item_ids": ["77"]}),
    ),
    outputs=("15.5",),
)
RESULTS = ["ann_1", ORDER, "15.5", {"status": "return requested"}]
PLAN = build_plan(TASK, TASK.actions, RESULTS, SPECS)


def test_told_values_stay_literal_and_observed_ones_become_references() -> None:
    returned = PLAN.steps[3]
    assert returned.arguments == {
        "order_id": "#W1",
        "item_ids": [Reference(1, ("items", 0, "item_id"))],
    }
    assert returned.told == ("#w1",)


def test_numbers_in_an_expression_become_a_template() -> None:
    template = PLAN.steps[2].arguments["expression"]
    assert isinstance(template, Template)
    assert template.parts == (Reference(1, ("items", 0, "price")), " + 3")
    assert resolve(template, RESULTS) == "12.5 + 3"


def test_outputs_are_read_from_results() -> None:
    assert PLAN.outputs == (Reference(2, ()),)


def test_the_state_that_the_policy_asks_for_is_a_guard() -> None:
    (guard,) = PLAN.steps[3].guards
    assert guard.source == Reference(1, ("status",))
    assert guard.expected == "delivered"


def test_criticality_flows_back_from_writes_and_outputs() -> None:
    assert [step.critical for step in PLAN.steps] == [False, True, True, True]
    assert set(PLAN.steps[1].needed) == {
        ("status",),
        ("items", 0, "item_id"),
        ("items", 0, "price"),
    }


def test_literals_are_counted() -> None:
    assert PLAN.literals == (3, 5)


def test_every_plan_resolves_to_its_gold_calls() -> None:
    done: list[object] = []
    for step, result in zip(PLAN.steps, RESULTS, strict=True):
        if step.call.name != "calculate":
            assert resolve(dict(step.arguments), done) == step.call.arguments
        done.append(result)


@pytest.mark.parametrize("result", [MISSING, {}, {"items": []}, {"items": [{"item_id": ""}]}])
def test_what_was_not_observed_cannot_be_used(result: object) -> None:
    with pytest.raises(MissingValueError):
        resolve(Reference(0, ("items", 0, "item_id")), [result])


def test_references_are_found_at_any_depth() -> None:
    one, two = Reference(0, ()), Reference(1, ("x",))
    assert references({"a": [one, {"b": Template(("n ", two))}]}) == [one, two]


@pytest.mark.parametrize(
    ("told", "value", "expected"),
    [
        ("my zip is 19122.", "19122", True),
        ("my zip is 191225", "19122", False),
        ("it cost 54.0 dollars", 54, False),
        ("it cost 54.", 54, True),
        ("Color RED please", "red", True),
    ],
)
def test_told_means_as_a_whole_token(told: str, value: object, expected: bool) -> None:
    assert Told(told).has(value) is expected


def _two_turns(calls: tuple[ToolCall, ...], informed: bool = True) -> Task:
    user = UserScript("Where is it?", turns=("Write to Ann.",))
    return Task("two", "test", "plain", user, calls, turns=(0, 1), informed=informed)


DISTANCE = ToolCall("get_order", {"order_id": "#W1"})
WRITTEN = ToolCall("return_items", {"to": "USR006", "text": "It is 980 miles, 12.50 dollars."})


def test_steps_belong_to_turns_and_a_read_that_is_left_out_to_the_next() -> None:
    task = _two_turns((DISTANCE, WRITTEN))
    extra = ToolCall("find_user", {"email": "x"})
    plan = build_plan(task, (DISTANCE, extra, WRITTEN), [{"a": 1}, "u", {}], SPECS)
    assert [step.turn for step in plan.steps] == [0, 1, 1]
    assert [step.turn for step in PLAN.steps] == [0, 0, 0, 0]


def test_where_the_reads_count_all_that_they_tell_is_needed() -> None:
    result = {"id": "#W1", "items": [], "note": "", "by": None, "price": 12.5}
    for informed in (True, False):
        task = _two_turns((DISTANCE, WRITTEN), informed)
        step = build_plan(task, task.actions, [result, {}], SPECS).steps[0]
        assert step.critical  # the write below uses its price
        told = {("id",), ("price",)} if informed else {("price",)}
        assert set(step.needed) == told


def test_a_text_writes_observed_numbers_as_the_gold_call_does() -> None:
    task = _two_turns((DISTANCE, WRITTEN))
    results = [{"distance": 980.0, "price": 12.5, "day": 6}, {}]
    plan = build_plan(task, task.actions, results, SPECS)
    assert plan.steps[1].arguments["to"] == "USR006"  # the number of an id is no amount
    assert resolve(dict(plan.steps[1].arguments), results) == WRITTEN.arguments
    wrong = [{"distance": 1078.35, "price": 10, "day": 6}]
    text = resolve(plan.steps[1].arguments["text"], wrong)
    assert text == "It is 1078.35 miles, 10.00 dollars."
