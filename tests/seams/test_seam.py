"""The two phases of a seam, beside the wrappers of an environment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.injectors import FaultInjector, FaultPlan, load_profile
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.loop_guard import LoopGuard, LoopRule
from bench2robust.monitors.monitor import OutcomeMonitor, ReceiptStyle
from bench2robust.seams.passage import Delivery
from bench2robust.seams.seam import WORDING, Seam
from bench2robust.seams.specs import mcp_tool
from tests.seams.shop import NAMES, ORDER, TOOLS, Shop, carry

CONTRACT = Contract({"get_order": (Invariant("missing_learned_field", "/total"),)})


CALLS = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from([*NAMES, "nothing"]),
        st.fixed_dictionaries({"order_id": st.sampled_from(["#W11", "#W12"])}),
    ),
    max_size=30,
)


@given(CALLS, st.integers(0, 50), st.sampled_from(["paper", "realistic", "incidents", "silent"]))
def test_call_by_call_a_seam_is_the_stack_of_an_environment(
    calls: list[ToolCall], seed: int, profile: str
) -> None:
    blocked = frozenset({"find_user"})
    inner, outer = Shop(), Shop()
    injector = FaultInjector(inner, FaultPlan(seed, "t", load_profile(profile), blocked))
    style = ReceiptStyle(wording=WORDING)
    monitor = OutcomeMonitor(injector, Checker(CONTRACT), style)
    stack = LoopGuard(monitor, LoopRule(), cap=25)
    seam = Seam(
        TOOLS, faults=profile, seed=seed, task="t", blocked=blocked, contract=CONTRACT,
        loop=LoopRule(), cap=25,
    )  # fmt: skip
    for call in calls:
        expected, got = stack.call(call), carry(seam, call, outer)
        assert (got.spoken, got.is_error) == expected
    assert seam.ledger == injector.events
    assert outer.ran == inner.ran


@given(CALLS, st.integers(0, 20), st.randoms(use_true_random=False))
def test_observable_faults_do_not_depend_on_when_others_are_answered(
    calls: list[ToolCall], seed: int, order: Any
) -> None:
    options: dict[str, Any] = {"faults": "observable", "seed": seed, "task": "t"}
    one, many = Seam(TOOLS, **options), Seam(TOOLS, **options)
    in_turn = [carry(one, call, Shop()) for call in calls]
    open_ = [many.before(call) for call in calls]
    order.shuffle(open_)
    late = {p.index: p.answer or many.after(p, Shop().call(p.call)) for p in open_}
    assert [late[i] for i in range(len(calls))] == in_turn


def test_open_calls_never_spend_more_than_the_budget() -> None:
    profile = {"probabilities": {"partial": 1.0}, "budget": 2, "max_consecutive": 9}
    seam = Seam(TOOLS, faults=profile)
    open_ = [seam.before(ToolCall("get_order", {})) for _ in range(5)]
    assert sum(p.fault is not None for p in open_) == 2
    seam.drop(open_[0])  # a call that never came back costs nothing
    again = seam.before(ToolCall("get_order", {}))
    assert again.fault is not None
    assert seam.after(open_[1], ToolResult(ORDER)).faulted
    assert [e.delivered for e in seam.ledger] == ["partial"]


def test_a_fault_that_cannot_change_a_result_gives_its_budget_back() -> None:
    profile = {"probabilities": {"stale": 1.0}, "budget": 1, "max_consecutive": 1}
    seam = Seam(TOOLS, faults=profile)
    passed = carry(seam, ToolCall("find_user", {}), Shop())
    assert (passed.faulted, passed.touched, passed.content) == (False, False, "mei_1")
    assert carry(seam, ToolCall("get_order", {}), Shop()).faulted
    assert [(e.planned, e.delivered) for e in seam.ledger] == [("stale", None), ("stale", "stale")]


def test_a_receipt_comes_as_text_and_as_an_object() -> None:
    seam = Seam(TOOLS, contract="declared")
    wrong = ORDER.replace("delivered", "lost")
    passage = seam.before(ToolCall("get_order", {"order_id": "#W11"}))
    got = seam.after(passage, ToolResult(wrong))
    assert got.content == wrong and not got.faulted and got.touched
    assert got.receipt is not None
    assert got.receipt["violation"]["property"] == "unseen_category"
    assert got.receipt["admissible_recovery_tools"] == ["get_order"]
    (note,) = got.notes
    assert note.startswith("[OUTCOME CONTRACT ADVISORY] ") and "'status'" in note
    assert seam.receipts == 1
    sound = carry(seam, ToolCall("get_order", {"order_id": "#W11"}), Shop())
    assert sound == Delivery(ORDER, False, ORDER, None, sound.check)


def test_an_arm_that_calls_tools_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="always_verify"):
        Seam(TOOLS, contract="declared", arm="always_verify")


def test_a_contract_that_is_neither_declared_nor_a_file_is_told() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'declared'"):
        Seam(TOOLS, contract="declard")


def test_a_loop_gets_a_word_and_the_cap_ends_it() -> None:
    seam, shop = Seam(TOOLS, loop=LoopRule(), cap=3), Shop()
    got = [carry(seam, ToolCall("find_user", {}), shop) for _ in range(4)]
    assert [len(d.notes) for d in got] == [0, 0, 1, 0]
    assert got[3].is_error and "limit of 3" in got[3].content
    assert len(shop.ran) == 3


def test_a_tool_called_before_any_list_is_faulted_and_later_only_known_ones() -> None:
    always = {"probabilities": {"timeout": 1.0}, "budget": 99, "max_consecutive": 99}
    seam, shop = Seam(faults=always), Shop()
    assert carry(seam, ToolCall("early", {}), shop).faulted
    seam.learn(TOOLS)
    assert not carry(seam, ToolCall("unheard", {}), shop).faulted
    assert carry(seam, ToolCall("get_order", {}), shop).faulted
    seam.learn([mcp_tool({"name": "unheard"})])
    assert carry(seam, ToolCall("unheard", {}), shop).faulted


def test_a_plan_that_names_a_stranger_is_told_the_nearest_name() -> None:
    plan = {"tools": {"get_ordre": {"timeout": 1.0}}, "schedule": [{"fault": "stale"}]}
    seam = Seam(faults=plan, blocked={"find_usr"})
    assert len(seam.strangers()) == 2, "nothing is known yet"
    seam.learn(TOOLS)
    first, second = seam.strangers()
    assert "'find_usr'" in first and "Did you mean 'find_user'" in first
    assert "'get_ordre'" in second and "Did you mean 'get_order'" in second
    with pytest.warns(UserWarning, match="get_ordre"), pytest.warns(UserWarning, match="find_usr"):
        seam.warn_of_strangers()


def test_the_ledger_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench2robust.seams.seam.KEPT", 10)
    seam = Seam(TOOLS, blocked={"find_user"}, contract="declared", loop=LoopRule())
    for n in range(95):
        carry(seam, ToolCall("find_user", {"n": n}), Shop())
    assert len(seam.ledger) < 20 and seam.ledger[-1].nth == 94
    assert seam.delivered == seam.calls == 95


def test_a_window_is_of_the_clock_that_is_given() -> None:
    now = [0.0]
    outage = {"schedule": [{"fault": "server_error", "window": [60, 120]}]}
    seam = Seam(TOOLS, faults=outage, clock=lambda: now[0])
    met = []
    for now[0] in (0.0, 59.9, 60.0, 119.9, 120.0):
        met.append(carry(seam, ToolCall("find_user", {})).faulted)
    assert met == [False, False, True, True, False]
