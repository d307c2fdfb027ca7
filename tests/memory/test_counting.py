from __future__ import annotations

from typing import Any

import pytest

from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.memory import build, fallback_pairs, tally

from .conftest import episode

PAIRS = frozenset({("get_order", "list_orders"), ("list_orders", "get_order")})


def test_one_count_per_episode_tool_and_error(counter: Any) -> None:
    calls = ["get_order", "get_order", "get_order", "cancel"]
    faults = {0: "timeout", 1: "timeout", 2: "partial", 3: "timeout"}
    memory = build(
        [episode("t1", True, calls, faults), episode("t2", False, ["get_order"], {0: "timeout"})],
        counter,
    )
    assert memory.recovery == {
        ("get_order", "timeout"): (1, 2),
        ("get_order", "partial"): (1, 1),
        ("cancel", "timeout"): (1, 1),
    }
    assert (memory.domain, memory.suite, memory.episodes) == ("counter", "c0", 2)


def test_a_fault_that_did_not_land_is_no_error(counter: Any) -> None:
    assert build([episode("t1", True, ["get_order"], {0: None})], counter).recovery == {}


@pytest.mark.parametrize(
    ("calls", "faults", "found"),
    [
        (["get_order", "list_orders"], {0: "timeout"}, {("get_order", "list_orders")}),
        (["get_order", "cancel", "list_orders"], {0: "auth_error"}, {("get_order", "list_orders")}),
        # It answered in between, so this is no switch.
        (["get_order", "get_order", "list_orders"], {0: "timeout"}, set()),
        (["get_order", "list_orders"], {}, set()),
        (["get_order", "list_orders"], {0: "partial"}, set()),
        (["list_orders", "get_order"], {1: "timeout"}, set()),
        (["cancel", "list_orders"], {0: "timeout"}, set()),
        (
            ["get_order", "list_orders", "get_order"],
            {0: "timeout", 1: "timeout"},
            {("get_order", "list_orders"), ("list_orders", "get_order")},
        ),
    ],
)
def test_a_switch_is_a_call_of_the_target_while_the_source_fails(
    calls: list[str], faults: dict[int, str], found: set[Any], counter: Any
) -> None:
    seen = tally(episode("t1", True, calls, faults), PAIRS)
    assert seen is not None and seen.switch == found
    assert fallback_pairs(counter) == PAIRS


def test_switches_are_counted_by_episode(counter: Any) -> None:
    calls, faults = ["get_order", "list_orders", "list_orders"], {0: "timeout", 1: "timeout"}
    memory = build([episode("t1", s, calls, faults) for s in (True, False, True)], counter)
    assert memory.switch == {("get_order", "list_orders"): (2, 3)}


def test_held_out_records_are_refused_and_the_first_is_named(counter: Any) -> None:
    records = [episode("t1", True), episode("h1", True, status="infra_error")]
    with pytest.raises(DataError, match=r"'h1'.*'test'.*tasks: train"):
        build(records, counter)
    with pytest.raises(UnknownNameError, match="'t1'"):
        build([episode("t9", True)], counter)


def test_only_scored_episodes_count(counter: Any) -> None:
    calls, faults = ["get_order"], {0: "timeout"}
    records = [
        episode("t1", False, calls, faults, status=status, flags=flags)
        for status, flags in (("infra_error", []), ("uncertified", []), ("ok", ["needs_judge"]))
    ]
    assert build(records, counter).recovery == {}


@pytest.mark.parametrize("field", ["status", "faults", "events", "success"])
def test_what_is_no_record_is_said_so(field: str, counter: Any) -> None:
    record = episode("t1", True)
    del record[field]
    with pytest.raises(DataError, match=field):
        build([record], counter)
