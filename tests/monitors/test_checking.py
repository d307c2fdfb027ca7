"""Each class catches its fault, and only that class does; the fast test agrees with the rules."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.codegen import compiled, source_of
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.miner import Miner
from bench2robust.monitors.profiles import Profile, load_profile
from bench2robust.monitors.rules import build_rule
from bench2robust.monitors.violation import CODES, Violation
from tests.monitors.records import RECORDS, RESULTS, TOOL, changed, mined, order

NUMBER = 7  # a shipped order of several items
MINER = mined(180)
CONTRACT = MINER.finalise()


def _check(
    result: Any, contract: Contract = CONTRACT, order_id: Any = f"W{NUMBER}"
) -> tuple[Violation, ...]:
    return Checker(contract).check_value(TOOL, {"order_id": order_id}, result)


def _without(key: str) -> dict[str, Any]:
    result = changed(NUMBER)
    del result[key]
    return result


def _item(**fields: Any) -> dict[str, Any]:
    result = changed(NUMBER)
    result["items"][0].update(fields)
    return result


FAULTS: dict[str, Callable[[], Any]] = {
    "explicit_error": lambda: changed(NUMBER, error="upstream timed out"),
    "missing_learned_field": lambda: _without("note"),
    "learned_type_mismatch": lambda: changed(NUMBER, note=["leave", "at the door"]),
    "learned_echo_mismatch": lambda: changed(NUMBER, order_id="W999"),
    "nonpositive_value": lambda: changed(NUMBER, item_count=0, items=[]),
    "unseen_category": lambda: changed(NUMBER, status="in_limbo"),
    "affine_relation_broken": lambda: changed(NUMBER, paid=order(NUMBER)["paid"] + 1),
    "unexpected_field": lambda: changed(NUMBER, debug=True),
}


def test_clean_orders_are_clean() -> None:
    for number in range(180, 400):
        assert _check(order(number), order_id=f"W{number}") == ()


@pytest.mark.parametrize("code", CODES)
def test_a_fault_is_caught_by_its_class_alone(code: str) -> None:
    """The sabotage test: without the class its fault slips through, with it it is caught."""
    fault = FAULTS[code]()
    assert code in [violation.code for violation in _check(fault)]
    assert _check(fault, CONTRACT.only({code}))
    assert not _check(fault, CONTRACT.only(set(CODES) - {code} - _also(code)))


def _also(code: str) -> set[str]:
    """Return the other classes that may see a fault too."""
    return {"affine_relation_broken"} if code == "nonpositive_value" else set()


@pytest.mark.parametrize("code", [code for code in CODES if code != "explicit_error"])
def test_a_class_that_a_profile_leaves_out_is_not_mined(code: str) -> None:
    strict = load_profile("strict")
    risk = {name: r for name, r in strict.risk.items() if name != code}
    if code == "unseen_category":
        del risk["named_category"]
    contract = MINER.finalise(Profile("partial", risk))
    assert code not in {invariant.code for invariant in contract.tools[TOOL]}
    others = CONTRACT.only(set(CODES) - {code})
    assert {i.key() for i in others.tools[TOOL]} <= {i.key() for i in contract.tools[TOOL]}


def test_violations_come_in_the_order_of_codes_then_of_the_document() -> None:
    result = _item(price=-1.0, sku=5)
    result.update(status="in_limbo", debug=1, error="x")
    del result["note"]
    found = _check(result, order_id="other")
    assert [v.code for v in found] == sorted((v.code for v in found), key=CODES.index)
    places = [(v.code, v.path) for v in found]
    assert places[:2] == [("explicit_error", "/error"), ("missing_learned_field", "/note")]
    assert ("learned_type_mismatch", "/items/0/sku") in places
    assert places[-1] == ("unexpected_field", "/debug")


def test_a_missing_parent_is_told_once() -> None:
    assert [v.path for v in _check(_without("items")) if v.code == "missing_learned_field"] == [
        "/items"
    ]


def test_a_wrong_type_is_not_descended_into() -> None:
    found = _check(changed(NUMBER, items="none"))
    assert [(v.code, v.path) for v in found] == [("learned_type_mismatch", "/items")]
    assert found[0].expected == ["array"] and found[0].observed == "string"


def test_a_tool_that_is_not_known_never_fires() -> None:
    checker = Checker(CONTRACT)
    assert not checker.covers("other") and checker.covers(TOOL)
    assert checker.check_value("other", {}, {"error": "x"}) == ()


def test_what_agents_see_is_read_as_json_and_loud_errors_are_left_alone() -> None:
    checker, call = Checker(CONTRACT), ToolCall(TOOL, {"order_id": f"W{NUMBER}"})
    fault = json.dumps(FAULTS["unseen_category"]())
    assert checker.check(call, ToolResult(json.dumps(order(NUMBER)))) == ()
    assert [v.code for v in checker.check(call, ToolResult(fault))] == ["unseen_category"]
    assert checker.check(call, ToolResult(fault, is_error=True)) == ()
    assert checker.check(call, ToolResult("Error: order not found")) == ()
    found = checker.check(call, ToolResult(fault[:40]))
    assert [(v.code, v.path, v.observed) for v in found] == [
        ("learned_type_mismatch", "", "string")
    ]


def test_case_of_a_category_does_not_matter() -> None:
    assert _check(changed(NUMBER, status="SHIPPED")) == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_have_a_wrong_type(value: float) -> None:
    found = [v for v in _check(changed(NUMBER, total=value)) if v.path == "/total"]
    assert ("learned_type_mismatch", "non-finite number") in [(v.code, v.observed) for v in found]


def test_whole_floats_are_whole_numbers() -> None:
    count = order(NUMBER)["item_count"]
    assert _check(changed(NUMBER, item_count=float(count))) == ()
    wrong = _check(changed(NUMBER, item_count=count + 0.5))
    assert wrong[0].code == "learned_type_mismatch"


def test_a_boolean_is_no_number() -> None:
    assert _check(changed(NUMBER, total=True))[0].code == "learned_type_mismatch"


@pytest.mark.parametrize(
    ("argument", "value", "level"),
    [("3", 3, "numeric"), (" ab", "AB ", "casefold"), ("x", "x", "exact"), (2, 2.0, "numeric")],
)
def test_levels_of_an_echo(argument: Any, value: Any, level: str) -> None:
    def broken(at: str) -> bool:
        echo = Invariant("learned_echo_mismatch", "/id", {"argument": "/id", "level": at})
        contract = Contract({TOOL: (echo,)})
        return bool(Checker(contract).check_value(TOOL, {"id": argument}, {"id": value}))

    levels = ["exact", "numeric", "casefold"]
    assert [broken(at) for at in levels] == [n < levels.index(level) for n in range(3)]


def test_an_echo_needs_its_argument() -> None:
    for arguments in ({}, {"order_id": None}):
        assert Checker(CONTRACT).check_value(TOOL, arguments, order(NUMBER)) == ()


def test_equal_contracts_share_what_was_compiled() -> None:
    again = replace(CONTRACT)
    Checker(CONTRACT)
    assert Checker(again)._tools is Checker(CONTRACT)._tools


def test_clean_results_share_one_answer() -> None:
    assert _check(order(NUMBER)) is _check(order(8), order_id="W8")


def _broken(contract: Contract, tool: str, arguments: Any, result: Any) -> list[str]:
    """Return the codes that the rules find: the definition."""
    rules = map(build_rule, contract.tools.get(tool, ()))
    return [f.violation.code for rule in rules for f in rule(arguments, result)]


@settings(max_examples=200, deadline=None)
@given(RECORDS, RESULTS, st.dictionaries(st.sampled_from(["id", "status", "total"]), RESULTS))
def test_the_fast_test_is_sure_only_of_what_the_rules_find_clean(
    records: list[Any], result: Any, arguments: dict[str, Any]
) -> None:
    miner = Miner()
    for tool, given_arguments, seen, task in records * 3:
        miner.add(tool, given_arguments, seen, task)
    loose = Profile("loose", dict.fromkeys(load_profile("paper").risk, 0.97), 60)
    contract = miner.finalise(loose)
    for tool, invariants in contract.tools.items():
        clean = compiled(invariants)
        assert clean is not None
        for given_arguments, value in [(arguments, result), *((r[1], r[2]) for r in records)]:
            if clean(given_arguments, value):
                assert _broken(contract, tool, given_arguments, value) == []


@pytest.mark.parametrize("number", range(0, 180, 9))
def test_the_fast_test_is_sure_of_every_broken_leaf_too(number: int) -> None:
    """Every leaf is replaced by values of other kinds: whatever the rules find, it refuses."""
    clean = compiled(CONTRACT.tools[TOOL])
    assert clean is not None
    whole, arguments = order(number), {"order_id": f"W{number}"}
    assert clean(arguments, whole)
    for path in _places(whole):
        for value in (None, True, 0, -1, 1.5, "", "x", [], {}, [1], {"error": "x"}):
            result = copy.deepcopy(whole)
            _set(result, path, value)
            if clean(arguments, result):
                assert _broken(CONTRACT, TOOL, arguments, result) == []


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(*path, key) for key, _ in below]
    for key in [key for key, item in below if isinstance(item, dict | list)]:
        found += _places(value[key], (*path, key))
    return found


def _set(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


HOSTILE = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "'+__import__('os').system('false')+'",
            '"]; raise SystemExit #',
            "\\",
            "'''",
            "a\nimport os",
            "\ud800",
            "{x}",
            "\0",
            "*",
            "**",
            "~1",
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(HOSTILE, HOSTILE, min_size=1, max_size=4), HOSTILE)
def test_hostile_keys_and_values_never_run(fields: dict[str, str], argument: str) -> None:
    miner = Miner()
    for number in range(70):
        result = {**fields, "rows": [{key: number} for key in fields], "kind": argument}
        miner.add("t", {argument: str(number)}, result, f"{number}")
    contract = miner.finalise()
    source = source_of(contract.tools["t"])
    names = compile(source, "<test>", "exec").co_consts[0].co_names
    assert set(names) <= ALLOWED | {name for name in names if name[0] == "K"}
    checker = Checker(contract)
    assert checker.check_value("t", {}, {**fields, "rows": [], "kind": argument}) == ()
    assert checker.check_value("t", {}, {**fields, "rows": [], "kind": {}})


ALLOWED = {
    *("dict", "list", "str", "int", "float", "bool", "len", "get", "items", "isdisjoint"),
    *("issuperset", "INF", "MISSING", "data_key", "agreement", "scalar", "argument", "__class__"),
    *("KeyError", "TypeError", "ValueError", "OverflowError", "AttributeError", "NameError"),
}
