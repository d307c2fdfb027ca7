from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.contracts.audit import Mining, audit_contract, audit_folds, audit_split
from bench2robust.evaluation.contracts.firing import Firings, Found, Share, bounded, place_of
from bench2robust.evaluation.contracts.mining import mine_samples
from bench2robust.evaluation.contracts.traces import Observed, Traces
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.miner import fold_of
from bench2robust.monitors.sources import Sample
from bench2robust.monitors.violation import Violation


def silent(done: int) -> None:
    pass


def samples(rows: list[dict[str, Any]]) -> list[Sample]:
    return [Sample(r["tool"], r["args"], r["response"], r["group"]) for r in rows]


def test_clean_calls_do_not_fire_however_they_are_held_out(
    shop: Any, jsonl: Callable[..., Path]
) -> None:
    traces = Traces([jsonl("x.jsonl", shop(400))])
    for audit in (audit_folds(traces, 5, Mining("strict"), silent),
                  audit_split(traces, 100, range(3), Mining("strict"), silent)):  # fmt: skip
        assert audit.firings.micro.hits == 0 and audit.firings.micro.total >= 400
        assert audit.invariants["get_order"] > 10


def test_each_sample_is_checked_by_what_was_mined_without_its_group(
    shop: Any, jsonl: Callable[..., Path]
) -> None:
    """A status that one group alone has fires there; were the group mined too, it would not."""
    rows = shop(400)
    odd = rows[7]["group"]
    for row in rows:
        if row["group"] == odd:
            row["response"]["status"] = "odd"
    traces = Traces([jsonl("x.jsonl", rows)])
    firings = audit_folds(traces, 5, Mining("paper"), silent).firings
    fires = {p for p in firings.places if p[1] == "unseen_category"}
    assert firings.places["get_order", "unseen_category", "/status"] == 2
    assert fires == {("get_order", "unseen_category", "/status")}
    assert 0 <= fold_of(odd) < 5
    given = audit_contract(traces, mine_samples(samples(rows)).finalise("paper"), silent)
    assert not any(p[1] == "unseen_category" for p in given.firings.places)


def test_a_split_mines_the_number_and_holds_out_the_other_groups(
    shop: Any, jsonl: Callable[..., Path]
) -> None:
    rare = {"tool": "rare", "args": {}, "response": {"a": 1}, "group": "r"}
    traces = Traces([jsonl("x.jsonl", [*shop(100), rare])])
    audit = audit_split(traces, 45, range(4), Mining("paper"), silent)
    assert audit.training == {"get_order": 45.0} and audit.short == ("rare",)
    # 45 of groups of two: 23 groups are for training, so 54 samples of 100 are held out.
    assert audit.firings.micro.total == 4 * 54
    again = audit_split(traces, 45, range(4), Mining("paper"), silent)
    assert again == audit


def test_shares_have_exact_intervals() -> None:
    share = Share(0, 45)
    assert share.share == 0 and share.interval.high == pytest.approx(0.0787, abs=1e-4)
    assert Share(0, 0).interval == (0, 1) and Share(0, 0).share != Share(0, 0).share


TABLE = Contract(
    {
        "t": (
            Invariant("explicit_error", ""),
            Invariant("unexpected_field", "", {"keys": ["items"]}),
            Invariant("unexpected_field", "/items/*", {"keys": ["a"]}),
            Invariant("learned_type_mismatch", "/by_id/**", {"types": ["string"]}),
            Invariant("missing_learned_field", "/a~1b~2", {}),
        )
    }
)


@pytest.mark.parametrize(
    ("code", "path", "at"),
    [
        ("explicit_error", "/data/error", ""),
        ("unexpected_field", "/items/3/b", "/items/*"),
        ("unexpected_field", "/b", ""),
        ("learned_type_mismatch", "/by_id/x", "/by_id/**"),
        ("missing_learned_field", "/a~1b*", "/a~1b~2"),
        ("nonpositive_value", "/unknown/3", "/unknown/3"),
        ("missing_learned_field", "/none/of/these", "/a~1b~2"),
    ],
)
def test_a_violation_is_counted_under_its_invariant(code: str, path: str, at: str) -> None:
    assert place_of(TABLE, "t", Violation(code, path, None, None, "")) == ("t", code, at)


def test_a_sample_counts_once_for_each_thing_it_fires() -> None:
    firings = Firings()
    broken = tuple(
        Violation("unexpected_field", f"/items/{n}/b", "absent", 1, "") for n in range(3)
    )
    sample = Sample("t", {}, {}, "g")
    firings.add(TABLE, Found(Observed(sample, "partial"), broken))
    firings.add(TABLE, Found(Observed(sample, "partial"), ()))
    firings.add(TABLE, Found(Observed(sample._replace(tool="u")), ()))
    assert firings.micro == (1, 2) and firings.of_code("unexpected_field") == (1, 2)
    assert firings.places == {("t", "unexpected_field", "/items/*"): 1}
    assert firings.unknown == {"u": 1} and firings.detection() == {"partial": (1, 2)}
    assert firings.macro()[0] == 0.5
    both = Firings()
    both.update(firings)
    both.update(firings)
    assert both.micro == (2, 4)


def test_names_of_tools_do_not_fill_memory() -> None:
    firings = Firings()
    for n in range(11_000):
        name = bounded(firings.unknown, f"tool{n}")
        firings.unknown[name] += 1
    assert len(firings.unknown) == 10_001 and firings.unknown["(other tools)"] == 1_000
