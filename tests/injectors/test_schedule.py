"""Scheduled faults, each beside a literal count."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import ToolCall
from bench2robust.injectors import FaultInjector, FaultPlan, load_profile
from tests.injectors.conftest import Inject, Shop


def met(injector: FaultInjector, calls: list[ToolCall]) -> list[int]:
    """Return which calls met a fault, from 1."""
    for call in calls:
        injector.call(call)
    return [e.index + 1 for e in injector.events if e.delivered]


def reads(count: int) -> list[ToolCall]:
    return [ToolCall("get_order", {"order_id": f"#W{n % 3}"}) for n in range(count)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"nth": 3}, [3]),
        ({"nth": [2, 5]}, [2, 5]),
        ({"every": 4}, [4, 8, 12]),
        ({"first": 2}, [1, 2]),
        ({"every": 5, "burst": 2}, [5, 6, 10, 11]),
        ({"nth": 11, "burst": 9}, [11, 12]),
        ({"window": [3, 5]}, [4, 5]),
        ({"window": [3, 5], "every": 2}, [4]),
        ({"arguments": {"order_id": "#W1"}}, [2, 5, 8, 11]),
        ({"arguments": {"order_id": "#W1"}, "nth": 2}, [5]),
        ({"arguments": {"order_id": 1}}, []),
        ({"tools": "find_user"}, []),
        ({"tools": ["get_order"], "probability": 0.0}, []),
        ({}, list(range(1, 13))),
    ],
)
def test_a_rule_hits_the_calls_that_it_says(inject: Inject, rule: Any, expected: Any) -> None:
    profile = {"schedule": [{"fault": "auth_error", **rule}]}
    injector, _ = inject(profile)
    assert met(injector, reads(12)) == expected


def test_a_window_is_of_simulated_seconds(inject: Inject) -> None:
    injector, _ = inject({"schedule": [{"fault": "timeout", "window": [2, 40]}]})
    # Calls 3 and 4 begin at 2 and 33 seconds, since a timeout takes thirty; call 5 at 64.
    assert met(injector, reads(6)) == [3, 4]


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_drawn_burst_begins_with_a_drawn_call(seed: int, burst: int) -> None:
    rule = {"fault": "auth_error", "probability": 0.2}
    single = {"schedule": [rule]}
    several = {"schedule": [{**rule, "burst": burst}]}
    begun, hit = (_hits(seed, profile) for profile in (single, several))
    assert hit == sorted({n + k for n in begun for k in range(burst) if n + k <= 40})


def _hits(seed: int, profile: Any) -> list[int]:
    injector = FaultInjector(Shop(), FaultPlan(seed, "t", load_profile(profile)))
    return met(injector, reads(40))


def test_counts_are_of_each_tool_apart(inject: Inject) -> None:
    injector, _ = inject({"schedule": [{"fault": "auth_error", "nth": 2}]})
    names = ["get_order", "find_user", "get_order", "find_user"]
    assert met(injector, [ToolCall(name, {}) for name in names]) == [3, 4]


def test_the_first_rule_wins_and_every_rule_counts(inject: Inject) -> None:
    rules = [{"fault": "auth_error", "nth": [1, 2]}, {"fault": "rate_limit", "nth": [2, 3]}]
    injector, _ = inject({"schedule": rules})
    met(injector, reads(4))
    assert [e.delivered for e in injector.events] == ["auth_error", "auth_error", "rate_limit"]


def test_limits_do_not_hold_for_a_schedule_nor_does_it_use_them_up(inject: Inject) -> None:
    plain, _ = inject({"base": "paper", "clean": 0.2})
    both, _ = inject({"base": "paper", "clean": 0.2, "schedule": [{"fault": "stale", "nth": 40}]})
    never, _ = inject({"base": "none", "budget": 0, "schedule": [{"fault": "auth_error"}]})
    calls = reads(39)
    assert met(plain, calls) == met(both, calls)
    both.call(calls[0])
    assert both.events[-1].delivered == "stale" and both.spent == plain.spent == 5
    assert len(met(never, calls)) == 39


def test_a_scheduled_fault_that_changes_nothing_counts_as_clean(inject: Inject) -> None:
    injector, _ = inject({"schedule": [{"fault": "stale", "tools": ["find_user"]}]})
    assert met(injector, [ToolCall("find_user", {})]) == []
    assert injector.events[0].planned == "stale" and injector.spent == 0


def test_written_fields_stand_in_place_of_the_known_ones(inject: Inject) -> None:
    fields = {"get_order": {"contents": ["user.id"], "states": {"status": ["new", "delivered"]}}}
    rules = [{"fault": "partial", "nth": 1}, {"fault": "stale", "nth": 2},
             {"fault": "factual_error", "nth": 3}]  # fmt: skip
    injector, _ = inject({"schedule": rules, "fields": fields})
    met(injector, reads(3))
    changes = [[(c.path, c.after) for c in e.changes] for e in injector.events]
    assert changes == [[(("user", "id"), "")], [(("status",), "new")], []]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"fault": "tiemout"}, "schedule.0.fault.*'timeout'"),
        ({"fault": "timeout", "nht": 3}, "'schedule.0.nht'.*'nth'"),
        ({"fault": "timeout", "nth": 0}, "counted from 1"),
        ({"fault": "timeout", "every": 0}, "schedule.0.every"),
        ({"fault": "timeout", "window": [5, 3]}, "the earlier one first"),
        ({"fault": "timeout", "window": [5]}, "schedule.0.window"),
        ({"fault": "timeout", "probability": 1.5}, "schedule.0.probability"),
        ({"nth": 1}, "schedule.0.fault"),
    ],
)
def test_a_wrong_rule_is_told_where_and_why(rule: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_profile({"schedule": [rule]})


def test_a_tool_that_a_rule_names_must_be_known() -> None:
    profile = load_profile({"schedule": [{"fault": "timeout", "tools": ["get_ordr"]}]})
    with pytest.raises(UnknownNameError, match="Did you mean 'get_order'"):
        profile.check_tools(["get_order"])
