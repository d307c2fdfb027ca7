"""No result and no file may run, hang, raise or grow memory without bound."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.canonical import canonical
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors import contract as contracts
from bench2robust.monitors import miner as mining
from bench2robust.monitors import shape
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import (
    Contract,
    Invariant,
    contract_from_text,
    contract_text,
    load_contract,
    save_contract,
)
from bench2robust.monitors.extensions import EXTENSIONS, base
from bench2robust.monitors.miner import Miner
from bench2robust.monitors.reading import parsed_result
from tests.monitors.records import TOOL, mined, order

CONTRACT = mined(120).finalise()


def _deep(levels: int, inner: str = "1") -> str:
    return '{"a":' * levels + inner + "}" * levels


STRANGE = [
    "",
    "   ",
    "{",
    "[1, 2",
    "null",
    "nan",
    '{"a": NaN, "b": Infinity, "c": -Infinity}',
    '{"a": 1, "a": 2}',
    '{"total": 1' + "0" * 400 + "}",
    '{"total": 1e999}',
    '{"order_id": "\ud800"}',
    _deep(100),
    _deep(900),
    _deep(5000),
    "[" * 100_000,
    '{"__proto__": {"a": 1}, "constructor": "x", "__class__": "y"}',
    '["' + "x" * 100_000 + '"]',
]


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_strange_results_are_checked_and_mined(text: str) -> None:
    call = ToolCall(TOOL, {"order_id": "W1"})
    assert Checker(CONTRACT).check(call, ToolResult(text))  # none of them is a clean order
    miner = Miner(5, tuple(EXTENSIONS))
    for number in range(3):
        miner.add(TOOL, {"order_id": "W1", "deep": {"a": {"b": 1}}}, text, f"{number}")
    miner.registries()
    contract = miner.finalise("paper")
    assert contract_from_text(contract_text(contract)) == contract
    assert Miner.from_json(json.loads(canonical(miner.to_json()))).finalise("paper") == contract


def test_not_finite_numbers_are_read_as_python_reads_them() -> None:
    value = parsed_result('{"a": NaN, "b": -Infinity}')
    assert value["a"] != value["a"] and value["b"] == float("-inf")


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parsed_result('{"a": 1, "a": 2}') == {"a": 2}


def test_ten_megabytes_are_checked_and_mined() -> None:
    row = {"sku": "SKU-1", "price": 2.5, "quantity": 1, "note": "x" * 150}
    result = {**order(1), "items": [row] * 50_000}
    text = json.dumps(result)
    assert len(text) > 10_000_000
    found = Checker(CONTRACT).check(ToolCall(TOOL, {"order_id": "W1"}), ToolResult(text))
    assert {"affine_relation_broken", "unexpected_field"} <= {v.code for v in found}
    miner = Miner()
    miner.add(TOOL, {"order_id": "W1"}, text)
    assert len(canonical(miner.to_json())) < 20_000


def test_huge_whole_numbers_do_no_harm() -> None:
    miner = Miner(extensions=tuple(EXTENSIONS))
    for number in range(70):
        sign = -1 if number % 2 else 1
        miner.add("t", {"n": 10**400}, {"n": sign * 10**400, "m": 10**30 + number}, str(number))
    contract = Miner.from_json(json.loads(canonical(miner.to_json()))).finalise()
    checker = Checker(contract)
    assert checker.check_value("t", {"n": 10**400}, {"n": 10**500, "m": 1}) == ()
    assert checker.check_value("t", {"n": 1}, {"n": 5, "m": -(10**400)})


@settings(max_examples=60, deadline=None)
@given(st.text() | st.binary().map(lambda b: b.decode("latin-1")))
def test_any_text_can_be_a_result(text: str) -> None:
    Checker(CONTRACT).check(ToolCall(TOOL, {"order_id": text}), ToolResult(text))
    miner = Miner()
    miner.add(text, {text: text}, text, text)
    miner.add(text, {text: text}, {text: [text, {text: text}]})
    miner.finalise("paper")


def _size(miner: Miner) -> int:
    return len(canonical(miner.to_json()))


def _hostile(number: int) -> dict[str, Any]:
    """Return a result whose every key and value is new."""
    name = "".join(chr(97 + int(digit)) for digit in str(number))
    return {
        f"key {name}": name,
        f"id-{number:06}": {"status": name, f"x{name}": number},
        "rows": [{"kind": name, "amount": number, f"col {name}": [name]}],
        "status": name,
        "text": name * 40,
    }


def test_the_state_does_not_grow_with_new_keys_and_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "MOST_PLACES", 500)
    miner, sizes = Miner(extensions=tuple(EXTENSIONS)), []
    for number in range(3000):
        miner.add(TOOL, {f"arg {number}": number, "n": number}, _hostile(number), str(number))
        if number in (1000, 2999):
            sizes.append(_size(miner))
    assert sizes[1] <= sizes[0] * 1.05


def test_memory_does_not_grow_with_records() -> None:
    miner = mined(600)
    records = [order(number) for number in range(600)]
    tracemalloc.start()
    for number in range(2400):
        miner.add(TOOL, {"order_id": "W1"}, records[number % 600], f"task-{number % 600}")
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 100_000


def test_a_tree_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "MOST_NODES", 50)
    miner = Miner()
    for number in range(60):
        name = chr(97 + number % 26) + chr(97 + number // 26)
        miner.add(TOOL, {}, {"a": {name: {"b": number}}, name: 1}, "t")
    state = miner.to_json()["tools"][TOOL][0]
    assert state["tree"]["full"]
    assert [i.code for i in miner.finalise().tools[TOOL]] == ["explicit_error"]


def test_names_of_tools_that_hold_data_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "MOST_TOOLS", 3)
    miner = Miner()
    with pytest.raises(UsageError, match="more than 3 tools"):
        for number in range(5):
            miner.add(f"tool {number}", {}, {})


# Contract files.


def test_a_contract_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    save_contract(CONTRACT, path)
    again = load_contract(path)
    assert again == CONTRACT and again.sha256 == CONTRACT.sha256
    assert os.listdir(tmp_path) == ["contract.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2"),
        ({"version": None}, "version None"),
        ({"format": "other"}, "format"),
        ({"tools": []}, "tools must be an object"),
        ({"tools": {"t": {"invariants": 5}}}, "must be a list"),
        ({"tools": {"t": {"records": -1, "invariants": []}}}, "must be a count"),
        ({"tools": {"t": {"invariants": [{"code": 5}]}}}, "needs a code and a path"),
        ({"tools": {"t": {"invariants": [{"code": "x", "path": "", "n": True}]}}}, "a count"),
        ({"tools": {"t": {"invariants": [{"code": "x", "path": "", "risk_hi": 2}]}}}, "from 0 to"),
        ({"tools": {"t": {"invariants": [{"code": "x", "path": "", "source": "y"}]}}}, "source"),
        ({"sha256": "0"}, "was changed after it was made"),
    ],
)
def test_damaged_contracts_are_refused(change: dict[str, Any], message: str) -> None:
    text = canonical({**json.loads(contract_text(CONTRACT)), **change})
    with pytest.raises(DataError, match=message):
        contract_from_text(text)


def test_an_edited_contract_is_accepted_without_its_hash() -> None:
    data = json.loads(contract_text(CONTRACT))
    del data["sha256"]
    data["tools"][TOOL]["invariants"] = data["tools"][TOOL]["invariants"][:3]
    assert len(contract_from_text(canonical(data)).tools[TOOL]) == 3


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"5", b"null"])
def test_files_that_are_no_contracts_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "contract.json"
    path.write_bytes(content)
    with pytest.raises(DataError):
        load_contract(path)


def test_a_contract_that_is_not_there_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_contract(tmp_path / "none.json")
    monkeypatch.setattr(contracts, "MAX_BYTES", 10)
    save_contract(CONTRACT, tmp_path / "contract.json")
    with pytest.raises(DataError, match="at most 10"):
        load_contract(tmp_path / "contract.json")


@pytest.mark.parametrize(
    "invariant",
    [
        Invariant("no_such_class", ""),
        Invariant("learned_type_mismatch", "", {"types": ["text"]}),
        Invariant("learned_type_mismatch", "", {"types": []}),
        Invariant("learned_type_mismatch", ""),
        Invariant("missing_learned_field", ""),
        Invariant("unexpected_field", "", {"keys": "abc"}),
        Invariant("unseen_category", "", {"values": []}),
        Invariant("unseen_category", "", {"values": [[1]]}),
        Invariant("learned_echo_mismatch", "", {"argument": "/a", "level": "strong"}),
        Invariant("learned_echo_mismatch", "", {"argument": 5, "level": "exact"}),
        Invariant("affine_relation_broken", "", {"terms": []}),
        Invariant("affine_relation_broken", "", {"terms": [[1, {"fold": "product"}]]}),
        Invariant("affine_relation_broken", "", {"terms": [[1, {"fold": "sum", "path": "/a"}]]}),
        Invariant("explicit_error", "", {"nominal": [5]}),
        Invariant("learned_range", "/a", {"low": "x"}),
        Invariant("date_order_broken", "/a", {}),
    ],
    ids=lambda invariant: f"{invariant.code}-{sorted(invariant.params)}",
)
def test_invariants_that_say_nothing_are_refused(invariant: Invariant) -> None:
    with pytest.raises(UsageError):
        Checker(Contract({TOOL: (invariant,)}))


@pytest.mark.parametrize(
    "state", [None, [], {}, {"format": mining.FORMAT}, {"format": mining.FORMAT, "version": 9}]
)
def test_states_that_are_none_are_refused(state: Any) -> None:
    with pytest.raises(DataError):
        Miner.from_json(state)


def test_a_damaged_state_is_refused() -> None:
    state = mined(5).to_json()
    state["tools"][TOOL][0]["tree"] = {"full": False}
    with pytest.raises(DataError, match="damaged"):
        Miner.from_json(state)


def test_the_limit_of_recursion_is_not_met() -> None:
    value: Any = 1
    for _ in range(sys.getrecursionlimit() * 2):
        value = [value]
    miner = Miner()
    miner.add(TOOL, {}, value, "t")
    miner.finalise()
    assert Checker(CONTRACT).check_value(TOOL, {}, value)
