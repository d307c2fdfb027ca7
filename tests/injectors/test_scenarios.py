"""Scenarios: what S1, S2 and S3 block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.core.solvability import Sides
from bench2robust.injectors import draw_scenario, plan_scenario

USER = Sides("user", frozenset({"by_email"}), frozenset({"by_name", "by_order"}))
ORDER = Sides("order", frozenset({"get_order"}), frozenset({"list_orders"}))
PRODUCT = Sides("product", frozenset({"get_product"}), frozenset({"search"}))
IMPOSSIBLE = frozenset({"get_order", "list_orders", "cancel_order"})


def analysis(
    switchable: tuple[Sides, ...] = (USER, ORDER),
    impossible: frozenset[str] = IMPOSSIBLE,
    passes: Callable[[frozenset[str]], bool] = lambda blocked: True,
) -> Any:
    """Return the part of a task's analysis that scenarios read."""
    return SimpleNamespace(
        switchable=switchable,
        impossible=impossible,
        critical=(USER, ORDER, PRODUCT),
        passes=passes,
    )


def test_s1_blocks_nothing() -> None:
    plan = plan_scenario("S1", analysis(), 1, "t")
    assert plan == ("S1", frozenset(), (), "", ())


def test_s2_draws_class_and_side_by_key() -> None:
    seen: Counter[tuple[tuple[str, ...], str]] = Counter()
    for seed in range(1000):
        plan = plan_scenario("S2", analysis(), seed, "t")
        assert plan is not None
        assert plan == plan_scenario("S2", analysis(), seed, "t")
        sides = {"user": USER, "order": ORDER}[plan.classes[0]]
        assert plan.blocked == (sides.primary if plan.side == "primary" else sides.alternative)
        seen[plan.classes, plan.side] += 1
    assert len(seen) == 4
    assert min(seen.values()) > 200


@pytest.mark.parametrize("side", ["primary", "alternative"])
def test_s2_with_a_fixed_side(side: Any) -> None:
    for seed in range(20):
        plan = plan_scenario("S2", analysis((ORDER,)), seed, "t", side=side)
        assert plan is not None
        assert plan == ("S2", getattr(ORDER, side), ("order",), side, ())


def test_s2_of_all_classes() -> None:
    sides = Counter()
    for seed in range(400):
        plan = plan_scenario("S2", analysis(), seed, "t", s2_classes="all")
        assert plan is not None
        assert plan.classes == ("user", "order")
        for cls in (USER, ORDER):
            assert (cls.primary <= plan.blocked) != (cls.alternative <= plan.blocked)
        sides[plan.side] += 1
    assert sides.keys() == {"primary", "alternative", "mixed"}
    assert sides["mixed"] > 150  # each class has a side of its own


def test_classes_that_together_end_the_task_are_not_blocked_together() -> None:
    both = USER.primary | ORDER.primary
    stub = analysis(passes=lambda blocked: not both <= blocked)
    plan = plan_scenario("S2", stub, 1, "t", side="primary", s2_classes="all")
    assert plan is not None
    assert (plan.classes, plan.blocked) == (("user",), USER.primary)


def test_s2_of_the_side_called_first() -> None:
    plan = plan_scenario("S2", analysis((ORDER,)), 1, "t", side="first_called")
    assert plan is not None
    assert plan.blocked == frozenset()
    assert plan.first_called == ((ORDER.primary, ORDER.alternative),)
    assert (plan.classes, plan.side) == (("order",), "first_called")
    with pytest.raises(UsageError, match="first_called"):
        plan_scenario("S2", analysis(), 1, "t", side="first_called", s2_classes="all")


def test_s3_blocks_what_makes_the_task_impossible() -> None:
    plan = plan_scenario("S3", analysis(), 1, "t")
    assert plan == ("S3", IMPOSSIBLE, ("user", "order", "product"), "", ())


def test_scenarios_that_do_not_apply() -> None:
    bare = analysis((), frozenset())
    assert plan_scenario("S1", bare, 1, "t") is not None
    assert plan_scenario("S2", bare, 1, "t") is None
    assert plan_scenario("S3", bare, 1, "t") is None


def test_the_mix_is_drawn_by_key() -> None:
    mix: Any = {"S3": 25, "S1": 30, "S2": 45}
    drawn = [draw_scenario(seed, "t", mix) for seed in range(4000)]
    shuffled: Any = {"S1": 0.30, "S2": 0.45, "S3": 0.25}
    assert drawn == [draw_scenario(seed, "t", shuffled) for seed in range(4000)]
    counts = Counter(drawn)
    for name, weight in mix.items():
        assert counts[name] / 4000 == pytest.approx(weight / 100, abs=0.03)
    assert len({draw_scenario(1, f"t{i}", mix) for i in range(50)}) == 3


def test_a_scenario_without_weight_never_comes() -> None:
    assert {draw_scenario(s, "t", {"S1": 1.0, "S2": 0.0}) for s in range(200)} == {"S1"}


@pytest.mark.parametrize(
    ("mix", "text"),
    [
        ({"S4": 1.0}, "S4"),
        ({"S1": -1.0}, "S1 is -1"),
        ({"S1": float("nan")}, "nan"),
        ({"S1": 0.0}, "every weight is 0"),
        ({}, "every weight is 0"),
    ],
)
def test_bad_mixes(mix: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        draw_scenario(1, "t", mix)
