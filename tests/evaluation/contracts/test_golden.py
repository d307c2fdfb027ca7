from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from bench2robust.evaluation.contracts.firing import Found, check_all
from bench2robust.evaluation.contracts.golden import junit, patched, run_golden
from bench2robust.evaluation.contracts.mining import mine_samples
from bench2robust.evaluation.contracts.traces import Observed
from bench2robust.monitors.contract import Contract, contract_from_text, contract_text
from bench2robust.monitors.sources import Sample


@pytest.fixture(scope="module")
def contract(shop: Any) -> Contract:
    return mine_samples(map(sample, shop(300))).finalise("strict")


def sample(row: dict[str, Any]) -> Sample:
    return Sample(row["tool"], row["args"], row["response"], row["group"])


def check(contract: Contract, rows: list[dict[str, Any]]) -> list[Found]:
    return list(check_all(contract, (Observed(sample(row)) for row in rows)))


def broken(shop: Any) -> list[dict[str, Any]]:
    """Golden results that are right, and that the contract has not seen the like of."""
    rows: list[dict[str, Any]] = shop(8, 1000)
    rows[0]["response"]["status"] = "returned"
    rows[1]["response"]["status"] = "lost"
    rows[2]["response"]["gift"] = True
    del rows[3]["response"]["total"]
    rows[4]["response"]["total"] = "9"
    rows[5]["response"]["total"] += 1
    rows[6]["response"]["items"][0]["price"] = 0
    rows[6]["response"]["total"] = sum(i["price"] for i in rows[6]["response"]["items"])
    rows[7]["response"]["error"] = "a remark"
    return rows


def test_a_contract_that_fits_is_ok(contract: Contract, shop: Any) -> None:
    golden = run_golden(contract, check(contract, shop(100, 1000)))
    assert golden.ok and golden.changes == () and golden.firings.checked.total() == 100
    assert patched(contract, golden.changes) == contract


def test_the_patch_silences_the_golden_set_and_nothing_else(contract: Contract, shop: Any) -> None:
    rows = broken(shop)
    golden = run_golden(contract, check(contract, rows))
    assert not golden.ok and golden.firings.fired.total() == len(rows)
    actions = {(c.code, c.path): c.action for c in golden.changes}
    assert actions["unseen_category", "/status"] == "relax"
    assert actions["unexpected_field", ""] == "relax"
    assert actions["missing_learned_field", "/total"] == "drop"
    assert actions["learned_type_mismatch", "/total"] == "relax"
    assert actions["nonpositive_value", "/items/*/price"] == "drop"
    assert actions["explicit_error", ""] == "relax"
    assert "drop" in {a for (code, _), a in actions.items() if code == "affine_relation_broken"}
    mended = patched(contract, golden.changes)
    assert run_golden(mended, check(mended, rows)).ok
    untouched = {i.key() for i in contract.tools["get_order"]}
    kept = {i.key() for i in mended.tools["get_order"] if i.source != "manual"}
    assert kept < untouched and len(untouched) - len(kept) == len(golden.changes)
    status = next(i for i in mended.tools["get_order"]
                  if i.path == "/status" and i.code == "unseen_category")  # fmt: skip
    assert set(status.params["values"]) == {"open", "paid", "sent", "returned", "lost"}
    assert status.source == "manual" and status.n == 300
    wrong = shop(1, 2000)
    wrong[0]["response"]["status"] = "never seen"
    assert not run_golden(mended, check(mended, wrong)).ok


def test_a_patched_contract_is_a_contract(contract: Contract, shop: Any) -> None:
    mended = patched(contract, run_golden(contract, check(contract, broken(shop))).changes)
    text = contract_text(mended)
    assert contract_text(contract_from_text(text)) == text


def test_too_many_values_drop_the_category(contract: Contract, shop: Any) -> None:
    rows = shop(40, 1000)
    for n, row in enumerate(rows):
        row["response"]["status"] = f"state{n}"
    golden = run_golden(contract, check(contract, rows))
    change = next(c for c in golden.changes if c.code == "unseen_category")
    assert change.action == "drop" and change.params is None


def test_junit_has_a_test_for_each_invariant(contract: Contract, shop: Any) -> None:
    rows = broken(shop)
    rows[0]["response"]["status"] = "bell\x07 & <tag>"
    golden = run_golden(contract, check(contract, rows))
    suite = ElementTree.fromstring(junit(contract, golden))
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.attrib["tests"]) == len(contract.tools["get_order"])
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(failed) == int(suite.attrib["failures"]) == len(golden.flags)
