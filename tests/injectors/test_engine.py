"""Algorithm 1: limits, blocking, eligibility and commit semantics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.backend import CallLog, ToolBackend
from bench2robust.core.faults import OBSERVABLE, PERSISTENT
from bench2robust.core.types import ToolCall
from bench2robust.injectors import BLOCKED, FaultInjector, FaultProfile, load_profile

NAMES = ("get_order", "list_orders", "find_user", "calculate", "cancel_order")


def call(name: str, order_id: str = "#W1") -> ToolCall:
    return ToolCall(name, {"order_id": order_id})


def algorithm_1(
    calls: list[str], blocked: set[str], draw: Callable[[str, int], str | None], b: int, k: int
) -> list[str | None]:
    """Lines 8 to 19 of Algorithm 1, word by word."""
    answers: list[str | None] = []
    spent = 0
    consecutive: dict[str, int] = defaultdict(int)
    seen: Counter[str] = Counter()
    for j in calls:
        nth = seen[j]
        seen[j] += 1
        if j in blocked:
            answers.append(BLOCKED)
            continue
        if spent < b and consecutive[j] < k:
            noise = draw(j, nth)
            if noise is not None:
                spent += 1
                consecutive[j] += 1
                answers.append(noise)
                continue
        consecutive[j] = 0
        answers.append(None)
    return answers


@settings(deadline=None, max_examples=150)
@given(
    calls=st.lists(st.sampled_from(NAMES), max_size=40),
    blocked=st.sets(st.sampled_from(NAMES), max_size=2),
    seed=st.integers(0, 10**6),
    clean=st.sampled_from([0.0, 0.3, 0.74]),
    b=st.integers(0, 8),
    k=st.integers(0, 4),
)
def test_follows_algorithm_1(
    inject: Any, calls: list[str], blocked: set[str], seed: int, clean: float, b: int, k: int
) -> None:
    profile = load_profile(
        {"base": "observable", "clean": clean, "budget": b, "max_consecutive": k}
    )
    injector, _ = inject(profile, seed=seed, blocked=frozenset(blocked))
    got: list[str | None] = []
    for name in calls:
        injector.call(call(name))
        got.append(injector.last.planned if injector.last else None)

    def draw(tool: str, nth: int) -> str | None:
        return profile.law(tool).fault(seed, "task_1", tool, nth, {})

    assert got == algorithm_1(calls, blocked, draw, b, k)


@settings(deadline=None, max_examples=150)
@given(
    calls=st.lists(st.sampled_from(NAMES), max_size=60),
    seed=st.integers(0, 10**6),
    b=st.integers(0, 6),
    k=st.integers(0, 3),
    persistence=st.sampled_from(["call", "key"]),
)
def test_limits_hold(
    inject: Any, calls: list[str], seed: int, b: int, k: int, persistence: str
) -> None:
    profile = {"base": "paper", "clean": 0.1, "budget": b, "max_consecutive": k}
    injector, _ = inject(profile | {"silent_persistence": persistence}, seed=seed)
    streak: Counter[str] = Counter()
    for name in calls:
        injector.call(call(name))
        delivered = injector.last is not None and injector.last.delivered is not None
        streak[name] = streak[name] + 1 if delivered else 0
        assert streak[name] <= k
    delivered_in_all = sum(e.delivered is not None for e in injector.events)
    assert delivered_in_all == injector.spent <= b


def test_a_clean_response_ends_a_streak_and_other_tools_do_not(inject: Any, always: Any) -> None:
    injector, _ = inject(always("timeout", max_consecutive=2))
    got = []
    for name in ["get_order", "find_user", "get_order", "get_order", "get_order", "find_user"]:
        got.append(injector.call(call(name)).is_error)
    assert got == [True, True, True, False, True, True]


def test_blocked_calls_do_not_run_and_cost_no_budget(inject: Any, always: Any) -> None:
    injector, shop = inject(always("timeout", budget=2), blocked=frozenset({"cancel_order"}))
    answers = [injector.call(call("cancel_order", str(i))) for i in range(20)]
    assert len(set(answers)) == 1
    assert answers[0].is_error
    assert not shop.ran
    assert shop.revision == injector.spent == 0
    assert {(e.planned, e.executed, e.committed) for e in injector.events} == {
        (BLOCKED, False, False)
    }
    assert {e.delivered for e in injector.events} <= set(PERSISTENT)
    assert injector.call(call("get_order")).is_error  # the budget is untouched


def test_a_blocked_tool_says_the_same_whenever_and_whatever_it_is_asked(inject: Any) -> None:
    names = frozenset(NAMES)
    for task in range(20):
        early, _ = inject("none", task_id=f"task_{task}", blocked=names)
        late, _ = inject("paper", task_id=f"task_{task}", blocked=names)
        late.call(call("transfer"))
        first = {name: early.call(call(name)) for name in NAMES}
        assert {name: late.call(call(name, "#W2")) for name in reversed(NAMES)} == first


def test_blocked_answers_differ_between_tools_and_tasks(inject: Any) -> None:
    names = frozenset(NAMES)
    kinds = set()
    for task in range(20):
        injector, _ = inject("none", task_id=f"task_{task}", blocked=names)
        for name in NAMES:
            injector.call(call(name))
            kinds.add(injector.last.delivered)
    assert kinds == set(PERSISTENT)


def test_what_is_not_faultable_passes(inject: Any, always: Any) -> None:
    injector, shop = inject(
        always("timeout"),
        blocked=frozenset({"transfer"}),
        first_called=((frozenset({"transfer"}), frozenset({"get_order"})),),
    )
    assert injector.call(call("transfer")).content == "done"
    assert "not found" in injector.call(call("no_such_tool")).content
    assert not injector.events
    assert injector.blocked == {"transfer"}
    assert len(shop.ran) == 2
    injector.call(call("find_user"))
    assert injector.events[0].index == 2  # calls that passed are counted too


def test_first_called_blocks_the_whole_side_from_that_call_on(inject: Any) -> None:
    sides = (frozenset({"get_order", "calculate"}), frozenset({"list_orders"}))
    for first, blocked in (("calculate", sides[0]), ("list_orders", sides[1])):
        injector, shop = inject("none", first_called=(sides,))
        injector.call(call("find_user"))
        assert injector.blocked == frozenset()
        injector.call(call(first))
        assert injector.blocked == blocked
        for name in NAMES:
            injector.call(call(name))
        assert {e.tool for e in injector.events} == set(blocked)
        assert not {c.name for c in shop.ran} & blocked


def test_an_ineligible_fault_counts_as_clean(inject: Any, always: Any) -> None:
    injector, shop = inject(always("stale", budget=1, max_consecutive=1))
    for _ in range(3):
        assert injector.call(call("find_user")) == shop.call(call("find_user"))
        event = injector.last
        assert event.planned == "stale"
        assert event.delivered is None
        assert event.executed
        assert not event.changes
    assert injector.spent == 0
    injector.call(call("get_order"))
    assert injector.last.delivered == "stale"


def test_an_ineligible_fault_ends_a_streak(inject: Any, always: Any) -> None:
    injector, _ = inject(always("stale", max_consecutive=2))
    got = []
    for order in ("a", "bad", "b", "c", "d", "e"):
        injector.call(call("cancel_order", order))
        got.append(injector.last.delivered if injector.last else "limit")
    assert got == ["stale", None, "stale", "stale", "limit", "stale"]


def test_silent_faults_leave_errors_alone(inject: Any, always: Any) -> None:
    for fault in ("partial", "stale", "factual_error"):
        injector, _ = inject(always(fault))
        assert "not found" in injector.call(call("cancel_order", "bad")).content
        assert injector.last.delivered is None
        assert not injector.last.committed


def test_last_is_none_after_a_clean_call(inject: Any, always: Any) -> None:
    injector, _ = inject(always("timeout", budget=1))
    injector.call(call("get_order"))
    assert injector.last is injector.events[0]
    injector.call(call("get_order"))
    assert injector.last is None


@pytest.mark.parametrize("fault", OBSERVABLE)
@pytest.mark.parametrize("commit", ["committed", "rejected"])
def test_commit_semantics_of_writes(inject: Any, always: Any, fault: str, commit: str) -> None:
    injector, shop = inject(always(fault, commit=commit))
    assert injector.call(call("cancel_order")).is_error
    ran = commit == "committed"
    assert shop.revision == int(ran)
    assert injector.last.executed == injector.last.committed == ran
    injector.call(call("cancel_order", "bad"))
    assert injector.last.executed == ran
    assert not injector.last.committed  # refused, or never run
    injector.call(call("get_order"))
    assert shop.ran[-1].name == "get_order"  # reads always run
    assert injector.last.executed
    assert not injector.last.committed


def test_the_realistic_profile_rejects_commits_and_wavers(inject: Any) -> None:
    ran: dict[str, set[bool]] = defaultdict(set)
    base = {"base": "realistic", "clean": 0.0, "budget": 10**6, "max_consecutive": 10**6}
    injector, shop = inject(base)
    for _ in range(300):
        before = shop.revision
        injector.call(call("cancel_order"))
        assert injector.last.committed == (shop.revision > before)
        ran[injector.last.planned].add(injector.last.executed)
    assert all(ran[f] == {False} for f in ("rate_limit", "auth_error", "schema_drift"))
    assert all(ran[f] == {True, False} for f in ("timeout", "server_error", "malformed_response"))
    assert all(ran[f] == {True} for f in ("partial", "stale", "factual_error"))


def test_the_paper_profile_commits(inject: Any) -> None:
    injector, shop = inject({"base": "paper", "clean": 0.0})
    for _ in range(5):
        injector.call(call("cancel_order"))
    assert shop.revision == 5
    assert all(e.committed for e in injector.events)


def test_the_true_result_is_tapped_inside(inject: Any, always: Any) -> None:
    injector, shop = inject(always("partial"))
    inside = CallLog(shop)
    outside: ToolBackend = FaultInjector(inside, injector.plan)
    seen = outside.call(call("get_order"))
    assert inside.entries[0].result == shop.call(call("get_order"))
    assert seen != inside.entries[0].result
    assert (outside.tools, outside.revision) == (shop.tools, shop.revision)


def test_no_faults_means_the_very_same_results(inject: Any) -> None:
    injector, shop = inject("none")
    for name in (*NAMES, "transfer"):
        assert injector.call(call(name)) == shop.call(call(name))
    assert not injector.events


def test_paths_that_the_task_does_not_read_stay_true(inject: Any, always: Any) -> None:
    needed = {"get_order": (("items", 0, "price"),)}
    injector, _ = inject(always("factual_error"), needed=needed)
    injector.call(call("get_order"))
    # By pattern, not by place: otherwise the difference would point at what the task is about.
    paths = [change.path for change in injector.last.changes]
    assert paths == [("items", 0, "price"), ("items", 1, "price")]
    injector, _ = inject(always("factual_error"), needed={"get_order": ()})
    injector.call(call("get_order"))
    assert injector.last.delivered is None


def test_profiles_of_single_tools(inject: Any) -> None:
    profile: FaultProfile = load_profile(
        {"base": "none", "max_consecutive": 9, "tools": {"get_order": {"timeout": 1.0}}}
    )
    injector, _ = inject(profile)
    assert injector.call(call("get_order")).is_error
    assert not injector.call(call("find_user")).is_error
