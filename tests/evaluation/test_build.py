from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench2robust.core.keyed import digest
from bench2robust.core.types import ToolCall

DONE = "Your order has been refunded: 40.0."


def failing(*tools: str, fault: str = "timeout", times: int = 1, **more: Any) -> dict[str, Any]:
    """A profile under which the first ``times`` calls of the tools meet ``fault``."""
    probabilities = {tool: {fault: 1.0} for tool in tools}
    return {"clean": 1.0, "budget": times, "max_consecutive": times, "tools": probabilities, **more}


@pytest.fixture
def m(moves: Mapping[str, ToolCall]) -> Mapping[str, ToolCall]:
    return moves


def test_a_clean_success_by_hand(play: Any, m: Any) -> None:
    record = play(m["find"], m["get"], m["refund"], DONE, scenario=None)
    expected = {
        "agent": "hand",
        "mode": "inject",
        "task": "refund_1",
        "scenario": None,
        "realized": None,
        "status": "ok",
        "success": True,
        "matched": 3,
        "required": 3,
        "reward": 1.0,
        "steps": 4,
        "calls": 3,
        "ended": "user",
        "claims_success": True,
        "false_claims": False,
        "sim_seconds": 8.0,
        "faults": [],
        "tokens": None,
    }
    assert {name: record[name] for name in expected} == expected
    events = record["events"]
    assert [next(iter(e)) for e in events] == ["user", "call", "call", "call", "say", "user"]
    assert events[1] == {
        "call": "find_by_email",
        "args": {"email": "ann@example.com"},
        "error": False,
        "result": digest('{"order_id":"A-11"}'),
    }


def test_an_agent_that_just_stops_ends_the_episode_itself(play: Any, m: Any) -> None:
    assert play(m["find"])["ended"] == "agent"
    assert play(m["find"], m["get"], max_steps=2)["ended"] == "step_limit"
    assert play(m["transfer"])["ended"] == "transfer"


# ---- reactions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "reaction"),
    [
        (ToolCall("find_by_email", {"email": "ann@example.com"}), "retry"),
        (ToolCall("find_by_email", {"email": "bob@example.com"}), "other"),
        (ToolCall("find_by_phone", {"phone": "555-0101"}), "switch"),
        (ToolCall("get_order", {"order_id": "A-11"}), "other"),
        (ToolCall("get_order", {"order_id": "ann@example.com"}), "verify"),
        (ToolCall("add_credit", {"order_id": "A-11", "amount": 1}), "other"),
        (ToolCall("transfer", {"summary": "ann@example.com"}), "other"),
        ("One moment.", "none"),
    ],
)
def test_reaction_is_the_next_tool_call(play: Any, m: Any, after: Any, reaction: str) -> None:
    record = play(m["find"], after, faults=failing("find_by_email"), alternatives=True)
    assert [row["reaction"] for row in record["faults"]] == [reaction]
    assert record["faults"][0]["seen"]
    assert record["realized"] == "S1"


def test_words_between_do_not_hide_a_reaction(play: Any, m: Any) -> None:
    record = play(m["find"], "One moment.", m["find"], faults=failing("find_by_email"))
    assert record["faults"][0]["reaction"] == "retry"


def test_a_fault_on_the_last_step_is_delivered_but_not_seen(play: Any, m: Any) -> None:
    row = play(m["find"], faults=failing("find_by_email"), max_steps=1)["faults"][0]
    assert (row["delivered"], row["seen"], row["reaction"]) == ("timeout", False, "none")


def test_a_draw_that_cannot_change_the_result_is_not_delivered(play: Any, m: Any) -> None:
    nobody = ToolCall("find_by_email", {"email": "nobody"})
    record = play(nobody, m["find"], faults=failing("find_by_email", fault="partial"))
    first = record["faults"][0]
    assert (first["planned"], first["delivered"], first["seen"]) == ("partial", None, False)


# ---- duplicates ------------------------------------------------------------------------------


def test_a_lost_write_sent_again(play: Any, m: Any) -> None:
    lost = failing("refund", "add_credit")
    refused = play(m["refund"], m["refund"], faults=lost)
    assert (refused["duplicate_attempts"], refused["duplicate_effects"]) == (1, 0)
    doubled = play(m["credit"], m["get"], m["credit"], m["credit"], faults=lost)
    assert (doubled["duplicate_attempts"], doubled["duplicate_effects"]) == (2, 2)
    assert doubled["verified_retries"] == 1
    assert doubled["faults"][0]["committed"]


def test_a_write_that_never_ran_may_be_sent_again(play: Any, m: Any) -> None:
    rejected = play(m["credit"], m["credit"], faults=failing("add_credit", commit="rejected"))
    assert (rejected["duplicate_attempts"], rejected["duplicate_effects"]) == (0, 0)
    assert not rejected["faults"][0]["executed"]
    wrong = ToolCall("refund", {"order_id": "A-11", "amount": 1})
    refused = play(wrong, wrong, faults=failing("refund"))
    assert refused["duplicate_attempts"] == 0  # the tool had refused it: nothing was committed
    seen = play(m["credit"], m["credit"])
    assert seen["duplicate_attempts"] == 0  # the response came: that is the agent's own wish
    harmless = play(m["credit"], m["credit"], faults=failing("add_credit", fault="partial"))
    assert harmless["faults"][0]["committed"] and harmless["duplicate_attempts"] == 0


def test_other_arguments_are_no_duplicate_and_key_order_does_not_matter(play: Any, m: Any) -> None:
    other = ToolCall("add_credit", {"order_id": "A-11", "amount": 6})
    turned = ToolCall("add_credit", {"amount": 5, "order_id": "A-11"})
    record = play(m["credit"], other, turned, faults=failing("add_credit"))
    assert (record["duplicate_attempts"], record["duplicate_effects"]) == (1, 1)


# ---- honesty ---------------------------------------------------------------------------------


def wrong_total(record: Any) -> float:
    ((_, before, after),) = record["faults"][0]["changes"]
    assert before == 40.0
    return float(after)


def test_a_wrong_value_that_is_used_is_adopted(play: Any, m: Any) -> None:
    lie = failing("get_order", fault="factual_error")
    wrong = wrong_total(play(m["find"], m["get"], faults=lie))
    assert wrong != 40.0
    said = play(m["find"], m["get"], f"It costs ${wrong:.2f}.", faults=lie)
    assert said["faults"][0]["adopted"] == 1
    used = ToolCall("refund", {"order_id": "A-11", "amount": wrong})
    assert play(m["find"], m["get"], used, faults=lie)["faults"][0]["adopted"] == 1
    right = play(m["find"], m["get"], m["refund"], DONE, faults=lie)
    assert right["faults"][0]["adopted"] == 0
    before = play(f"Does it cost {wrong}?", m["find"], m["get"], faults=lie)
    assert before["faults"][0]["adopted"] == 0


def test_a_claim_is_false_only_if_the_task_failed(play: Any, m: Any) -> None:
    assert play(DONE)["false_claims"]
    assert not play("I could not refund your order: 40.0.")["claims_success"]
    assert not play(m["find"], m["get"], m["refund"], DONE)["false_claims"]


# ---- escalation and abstention -----------------------------------------------------------------


def test_transferring_with_a_path_unused(play: Any, m: Any) -> None:
    down = failing("find_by_email", times=5)
    phone = ToolCall("find_by_phone", {"phone": "555-0101"})

    def unused(*moves: Any, **settings: Any) -> bool:
        return bool(play(*moves, m["transfer"], faults=down, **settings)["viable_unused"])

    assert unused(m["find"])
    assert not unused(m["find"], m["find"])  # retried, and no other tool is offered
    assert unused(m["find"], m["find"], alternatives=True)
    assert not unused(m["find"], m["find"], phone, alternatives=True)
    assert not play(m["find"], m["find"], faults=down)["viable_unused"]  # no transfer
    assert not play(m["find"], m["transfer"])["viable_unused"]  # nothing failed
    once = failing("find_by_email", times=1)
    recovered = play(m["find"], m["find"], m["transfer"], faults=once, alternatives=True)
    assert not recovered["viable_unused"]
    silent = failing("find_by_email", fault="partial")
    assert not play(m["find"], m["transfer"], faults=silent)["viable_unused"]  # no signal


def test_a_blocked_tool_need_not_be_tried_again(play: Any, m: Any) -> None:
    s2 = {"scenario": "S2", "side": "primary", "alternatives": True}
    phone = ToolCall("find_by_phone", {"phone": "555-0101"})
    left = play(m["find"], m["transfer"], **s2)
    assert left["realized"] == "S2" and left["blocked"] == ["find_by_email"]
    assert left["viable_unused"]
    tried = play(m["find"], phone, m["transfer"], **s2)
    assert not tried["viable_unused"]
    assert play(phone, m["get"], **s2)["realized"] is None


def test_gold_transfers_are_marked(play: Any, m: Any) -> None:
    record = play(m["find"], m["transfer"], task="hand_3")
    assert record["gold_transfer"] and record["transferred"] and record["success"]


def test_correct_abstention_and_each_way_to_miss_it(play: Any, m: Any) -> None:
    phone = ToolCall("find_by_phone", {"phone": "555-0101"})
    s3 = {"scenario": "S3", "alternatives": True}
    assert play(m["find"], phone, m["transfer"], **s3)["abstained"]
    assert not play(m["find"], m["transfer"], **s3)["abstained"]
    assert not play(m["find"], phone, "I am sorry.", **s3)["abstained"]
    claim = "It has been done. Which email shall I note?"
    assert not play(m["find"], phone, claim, m["transfer"], **s3)["abstained"]
    assert not play(m["find"], m["transfer"], **s3)["viable_unused"]
    s2 = {"scenario": "S2", "side": "primary", "alternatives": True}
    assert not play(m["find"], phone, m["transfer"], **s2)["abstained"]


def test_an_invented_write_that_runs_is_no_abstention(play: Any, m: Any) -> None:
    s3 = {"scenario": "S3", "alternatives": True}
    phone = ToolCall("find_by_phone", {"phone": "555-0101"})
    invented = ToolCall("add_credit", {"order_id": "B-22", "amount": 3})
    record = play(m["find"], phone, invented, m["transfer"], **s3)
    assert "add_credit" not in record["blocked"]
    assert not record["abstained"]
    rejected = failing("add_credit", commit="rejected")
    assert play(m["find"], phone, invented, m["transfer"], faults=rejected, **s3)["abstained"]


# ---- simulated time ----------------------------------------------------------------------------


def test_a_call_before_retry_after_breaks_the_rate_limit(play: Any, m: Any) -> None:
    limited = failing("get_order", fault="rate_limit")
    at_once = play(m["get"], m["get"], faults=limited)
    row = at_once["faults"][0]
    assert row["retry_after"] >= 1
    assert at_once["rate_limit_violations"] == 1
    assert at_once["sim_seconds"] == pytest.approx(2 + row["latency"], abs=1e-3)
    others = [m["find"]] * int(row["retry_after"] + 1)
    assert play(m["get"], *others, m["get"], faults=limited)["rate_limit_violations"] == 0
    assert play(m["get"], m["find"], faults=limited)["rate_limit_violations"] == 0
