"""Which linear relations are found, and which are not taken for one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.monitors import relations
from bench2robust.monitors.affine import read_relation
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.miner import Miner

TOOL = "get_bill"


def _found(make: Callable[[random.Random], dict[str, Any]], count: int = 60) -> set[str]:
    miner, draw = Miner(), random.Random(7)
    for number in range(count):
        miner.add(TOOL, {}, make(draw), str(number))
    contract = miner.finalise()
    rows = [i for i in contract.tools[TOOL] if i.code == "affine_relation_broken"]
    return {str(read_relation(row.params)) for row in rows}


def _money(draw: random.Random) -> float:
    return round(draw.uniform(1, 900), 2)


@pytest.mark.parametrize(
    ("make", "relation"),
    [
        (lambda x, y: {"net": x, "gross": x}, "gross = net"),
        (lambda x, y: {"net": x, "tax": 0.07 * x}, "tax = 0.07 * net"),
        (
            lambda x, y: {"celsius": x, "fahrenheit": 1.8 * x + 32},
            "fahrenheit = 1.8 * celsius + 32",
        ),
        (lambda x, y: {"net": x, "tax": y, "gross": x + y}, "gross = net + tax"),
        (lambda x, y: {"paid": x, "due": 1000 - x}, "due = -paid + 1000"),
        (
            lambda x, y: {
                "rows": [{"price": x, "qty": 2}, {"price": y, "qty": 1}],
                "sum": 2 * x + y,
            },
            "sum(rows.*.price * qty) = sum",
        ),
    ],
)
def test_relations_that_are_found(make: Callable[[float, float], Any], relation: str) -> None:
    found = _found(lambda draw: make(_money(draw), _money(draw)))
    assert relation in found


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: {"a": x, "b": y},
        lambda x, y: {"a": x, "b": x * 3 / 7},
        lambda x, y: {"a": x, "b": x * x},
        lambda x, y: {"a": 5.0, "b": 5.0},  # constants say nothing
        lambda x, y: {"a": float(x > 400), "b": float(x > 400)},  # two points are any line
        lambda x, y: {"item_id": x, "b": x},  # an identifier is no amount
        lambda x, y: {"a": x, "rows": [{"kind": "x", "n": y}] * (1 + int(y) % 3)},
    ],
)
def test_what_is_no_relation(make: Callable[[float, float], Any]) -> None:
    assert _found(lambda draw: make(_money(draw), _money(draw))) == set()


def test_a_relation_of_counts_and_amounts_is_no_sum() -> None:
    def make(draw: random.Random) -> dict[str, Any]:
        count, x = draw.randint(1, 9), _money(draw)
        return {"rows": [1] * count, "parts": [{"price": x}], "whole": [{"price": x + count}]}

    assert _found(make) == set()


def test_lists_of_one_are_no_balance_with_the_list_that_holds_them() -> None:
    """Every reservation had one instance so far; a list and another one may balance."""

    def make(draw: random.Random) -> dict[str, Any]:
        size = draw.randint(1, 9)
        rows = [{"instances": [{"id": str(draw.random())}]} for _ in range(size)]
        return {"reservations": rows, "owners": ["me"] * size}

    found = _found(make)
    assert "len(owners) = len(reservations)" in found
    assert not any("owners" not in relation for relation in found)


def test_parts_that_every_record_has_balance() -> None:
    def make(draw: random.Random) -> dict[str, Any]:
        price, back = _money(draw), _money(draw)
        paid = [{"type": "payment", "amount": price + back}, {"type": "refund", "amount": back}]
        return {"items": [{"price": price}], "history": paid}

    relation = (
        "sum(history.*.amount where type = payment) = "
        "sum(history.*.amount where type = refund) + sum(items.*.price)"
    )
    assert relation in _found(make)


def test_relations_that_follow_from_others_are_left_out() -> None:
    def make(draw: random.Random) -> dict[str, Any]:
        x = _money(draw)
        return {"a": x, "b": x, "c": x, "d": 2 * x}

    assert len(_found(make)) == 3


def test_a_guard_says_where_a_relation_holds() -> None:
    def make(draw: random.Random) -> dict[str, Any]:
        status, x, y = draw.choice(("open", "paid", "void")), _money(draw), _money(draw)
        return {"status": status, "sum": x, "paid": 0.0 if status == "open" else x, "other": y}

    assert _found(make, 150) == {"paid = sum, where status is paid, void"}


def test_a_guard_value_with_few_records_is_not_checked() -> None:
    miner, draw = Miner(), random.Random(3)
    for number in range(100):
        x = _money(draw)
        status = "rare" if number % 25 == 0 else "usual"
        paid = x if status == "usual" else x + 1
        miner.add(TOOL, {}, {"status": status, "sum": x, "paid": paid}, str(number))
    checker = Checker(miner.finalise())
    assert not checker.check_value(TOOL, {}, {"status": "rare", "sum": 1.0, "paid": 9.0})
    assert checker.check_value(TOOL, {}, {"status": "usual", "sum": 1.0, "paid": 9.0})


def test_rounding_of_floats_breaks_no_relation() -> None:
    miner, draw = Miner(), random.Random(5)
    for number in range(60):
        prices = [_money(draw) for _ in range(40)]
        result = {"rows": [{"price": p} for p in prices], "sum": sum(reversed(prices))}
        miner.add(TOOL, {}, result, str(number))
    checker = Checker(miner.finalise())
    result = {"rows": [{"price": 0.1}] * 10, "sum": 1.0}
    assert not checker.check_value(TOOL, {}, result)
    assert not checker.check_value(TOOL, {}, {**result, "sum": 1.0 + 9e-6})
    assert checker.check_value(TOOL, {}, {**result, "sum": 1.0 + 2e-5})
    large = {"rows": [{"price": 1e9}] * 10, "sum": 1e10 + 5}
    assert not checker.check_value(TOOL, {}, large)  # 1e-9 of the size of the terms
    assert checker.check_value(TOOL, {}, {**large, "sum": 1e10 + 50})


def test_too_many_terms_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "MOST_TERMS", 10)

    def make(draw: random.Random) -> dict[str, Any]:
        x = _money(draw)
        return {f"n{chr(97 + k)}": x * (k + 1) for k in range(12)}

    assert _found(make) == set()
