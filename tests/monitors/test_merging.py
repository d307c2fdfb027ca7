"""The state of shards, merged in any order, is the state of one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.canonical import canonical
from bench2robust.monitors import shape
from bench2robust.monitors.contract import contract_text
from bench2robust.monitors.extensions import EXTENSIONS
from bench2robust.monitors.miner import Miner
from tests.monitors.records import RECORDS, TOOL, mined, order

EVERYTHING = tuple(EXTENSIONS)


def _mined(records: Sequence[tuple[Any, ...]], folds: int) -> Miner:
    miner = Miner(folds, EVERYTHING)
    for tool, arguments, result, task in records:
        miner.add(tool, arguments, result, task)
    return miner


def _sorted(value: Any) -> Any:
    """Return a state with its lists in one order; no list of a state has a meaningful order."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(item) for item in value), key=canonical)
    return value


def _state(miner: Miner) -> str:
    return canonical(_sorted(miner.to_json()))


@settings(max_examples=150, deadline=None)
@given(RECORDS, st.integers(0, 24), st.integers(0, 24), st.sampled_from([1, 3]), st.booleans())
def test_merged_shards_equal_one_pass(
    records: list[Any], cut: int, second: int, folds: int, saved: bool
) -> None:
    low, high = sorted((cut, second))
    parts = [_mined(part, folds) for part in (records[:low], records[low:high], records[high:])]
    if saved:  # as a file would keep it
        parts = [Miner.from_json(orjson.loads(orjson.dumps(part.to_json()))) for part in parts]
    merged = Miner(folds, EVERYTHING)
    for part in reversed(parts):
        merged.merge(part)
    single = _mined(records, folds)
    assert _state(merged) == _state(single)
    assert contract_text(merged.finalise("paper")) == contract_text(single.finalise("paper"))


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.integers(0, 24))
def test_mining_goes_on_after_a_merge(records: list[Any], cut: int) -> None:
    miner, rest = _mined(records[:cut], 1), _mined(records[cut:], 1)
    miner.merge(rest)
    single = _mined(records, 1)
    for number in range(3):
        for one in (miner, single):
            one.add("one", {"order_id": number}, order(number), "late")
    assert _state(miner) == _state(single)


def test_order_of_records_does_not_matter() -> None:
    forwards, backwards = Miner(), Miner()
    numbers = range(90)
    for number in numbers:
        forwards.add(TOOL, {"order_id": f"W{number}"}, order(number), str(number))
    for number in reversed(numbers):
        backwards.add(TOOL, {"order_id": f"W{number}"}, order(number), str(number))
    assert _state(forwards) == _state(backwards)
    assert forwards.finalise().tools[TOOL]


def test_what_overflows_is_dropped_on_every_path() -> None:
    wide = [{f"key {chr(97 + n // 26)}{chr(97 + n % 26)}": n} for n in range(shape.MOST_KEYS + 1)]
    single, left, right = Miner(), Miner(), Miner()
    for number, result in enumerate(wide):
        single.add("t", {}, {"in": result}, "x")
        (left if number % 2 else right).add("t", {}, {"in": result}, "x")
    left.merge(right)
    assert _state(left) == _state(single)
    inner = single.to_json()["tools"]["t"][0]["tree"]["root"]["object"]["children"]["in"]
    assert inner["object"]["children"] is None


def test_registries_leave_their_fold_out() -> None:
    miner = mined(150, folds=5)
    whole = miner.finalise().records[TOOL]
    held = [whole - registry.records[TOOL] for registry in miner.registries()]
    assert sum(held) == whole == 150
    assert all(held)


def test_other_folds_or_extensions_do_not_merge() -> None:
    with pytest.raises(ValueError, match="same folds and extensions"):
        Miner(5).merge(Miner(1))
    with pytest.raises(ValueError, match="same folds and extensions"):
        Miner(extensions=["learned_range"]).merge(Miner())


POINTS = st.tuples(
    st.integers(-4, 4), st.integers(-4, 4), st.sampled_from(["open", "done", "void"])
)


def _related(a: int, b: int, status: str) -> dict[str, Any]:
    """Return a result with lines and sums, some of which hold for one status only."""
    return {
        "status": status,
        "a": a,
        "b": b,
        "double": 2 * a + (1 if status == "open" else 0),
        "sum": a + b if status != "void" else b,
        "price": a * 0.1,
        "parts": [{"amount": b * 1.5, "kind": status}] * (abs(a) + 1),
    }


@settings(max_examples=150, deadline=None)
@given(st.lists(POINTS, max_size=20), st.integers(0, 20), st.booleans())
def test_merged_relations_equal_one_pass(points: list[Any], cut: int, alike: bool) -> None:
    records = [
        ("one", {}, _related(a if not alike else 3, b, status), str(n))
        for n, (a, b, status) in enumerate(points)
    ]
    merged = _mined(records[cut:], 1)
    merged.merge(_mined(records[:cut], 1))
    assert _state(merged) == _state(_mined(records, 1))
