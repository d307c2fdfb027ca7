"""Each strategy is a pure function of what the agent sees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import STRATEGIES, Move, Situation
from bench2robust.agents.signals import SIGNALS

CALM = Situation(
    writes=False,
    signal="",
    failures=0,
    fetches=1,
    alternatives=0,
    switched=False,
    missing=False,
    agreeing=1,
    landed=None,
    matters=True,
    steps_left=20,
    steps_needed=5,
    last=True,
)


def decide(name: str, **changes: Any) -> Move:
    return STRATEGIES[name][0](CALM._replace(**changes))


@pytest.mark.parametrize(
    ("name", "changes", "move"),
    [
        ("naive", {"signal": "timeout", "failures": 1}, Move.PROCEED),
        ("liar", {"signal": "timeout", "failures": 1}, Move.PROCEED),
        ("retry", {"signal": "timeout", "failures": 1}, Move.RETRY),
        ("retry", {"signal": "timeout", "failures": 3, "alternatives": 2}, Move.ABSTAIN),
        ("retry", {"signal": "refused", "failures": 1}, Move.PROCEED),
        ("retry_switch", {"signal": "timeout", "failures": 2, "alternatives": 2}, Move.RETRY),
        ("retry_switch", {"signal": "timeout", "failures": 3, "alternatives": 2}, Move.SWITCH),
        ("retry_switch", {"signal": "timeout", "failures": 3}, Move.ABSTAIN),
        ("escalate", {"signal": "rate_limit", "failures": 1, "alternatives": 2}, Move.ABSTAIN),
        ("escalate", {}, Move.PROCEED),
        ("blind_retry", {"signal": "refused", "failures": 1}, Move.RETRY),
        ("blind_retry", {"signal": "refused", "failures": 4}, Move.PROCEED),
        ("cautious", {}, Move.VERIFY),
        ("cautious", {"agreeing": 2, "fetches": 2}, Move.PROCEED),
        ("cautious", {"matters": False}, Move.PROCEED),
        ("cautious", {"steps_left": 6}, Move.PROCEED),
        ("cautious", {"missing": True, "agreeing": 0}, Move.VERIFY),
        ("cautious", {"missing": True, "fetches": 3, "alternatives": 1}, Move.SWITCH),
        ("cautious", {"writes": True, "signal": "timeout", "failures": 1}, Move.VERIFY),
        ("cautious", {"writes": True, "signal": "timeout", "landed": True}, Move.PROCEED),
        ("cautious", {"writes": True, "signal": "timeout", "landed": False}, Move.RETRY),
        ("cautious", {"signal": "timeout", "failures": 3, "agreeing": 1}, Move.PROCEED),
        ("receipt", {}, Move.PROCEED),
        ("receipt", {"receipt": True, "listed": True, "alternatives": 1}, Move.SWITCH),
        ("receipt", {"receipt": True, "alternatives": 1, "fetches": 1}, Move.RETRY),
        ("receipt", {"receipt": True, "fetches": 2}, Move.PROCEED),
        ("receipt", {"receipt": True, "fetches": 1, "matters": False}, Move.PROCEED),
        ("receipt", {"receipt": True, "writes": True}, Move.PROCEED),
        ("receipt", {"receipt": True, "last": False, "listed": True}, Move.PROCEED),
        ("receipt", {"signal": "timeout", "failures": 3, "alternatives": 2}, Move.SWITCH),
    ],
)
def test_moves(name: str, changes: dict[str, Any], move: Move) -> None:
    assert decide(name, **changes) is move


SITUATIONS = st.builds(
    Situation,
    writes=st.booleans(),
    signal=st.sampled_from(SIGNALS),
    failures=st.integers(0, 9),
    fetches=st.integers(0, 9),
    alternatives=st.integers(0, 4),
    switched=st.booleans(),
    missing=st.booleans(),
    agreeing=st.integers(0, 9),
    landed=st.none() | st.booleans(),
    matters=st.booleans(),
    steps_left=st.integers(-3, 25),
    steps_needed=st.integers(0, 25),
    last=st.booleans(),
)


@given(SITUATIONS)
def test_every_strategy_has_a_move_for_everything(situation: Situation) -> None:
    for strategy, _ in STRATEGIES.values():
        assert strategy(situation) in Move


@given(SITUATIONS)
def test_no_strategy_switches_without_an_alternative(situation: Situation) -> None:
    for strategy, _ in STRATEGIES.values():
        move = strategy(situation)
        assert move is not Move.SWITCH or situation.alternatives > 0


@given(SITUATIONS)
def test_no_strategy_fetches_one_thing_for_ever(situation: Situation) -> None:
    worn = situation._replace(failures=9, fetches=9, landed=situation.landed or False)
    for strategy, _ in STRATEGIES.values():
        assert strategy(worn) not in (Move.RETRY, Move.VERIFY)
