from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench2robust.core.types import Scenario
from bench2robust.injectors.profiles import load_profile
from bench2robust.training.config_groups import Group
from bench2robust.training.groups import GroupPlan, phase_profile, plan_group

FULL: dict[Scenario, float] = {"S1": 0.30, "S2": 0.45, "S3": 0.25}


def plan(group: Group | None = None, **changes: Any) -> GroupPlan:
    key: dict[str, Any] = {"seed": 0, "iteration": 0, "prompt": 0, "task_id": "t"}
    mix = changes.pop("mix", FULL)
    return plan_group(group or Group(), mix, 5, **{**key, **changes})


def test_the_first_eight_of_sixteen_are_clean() -> None:
    made = plan()
    assert [m.injected for m in made.members] == [False] * 8 + [True] * 8
    assert [m.scenario for m in made.members] == [None] * 8 + [made.scenario] * 8
    assert made.scenario in FULL
    assert [m.place for m in made.members] == list(range(16))
    assert made.max_injections == 5


def test_it_is_a_pure_function_of_its_key() -> None:
    assert plan() == plan()
    others = [plan(seed=1), plan(iteration=1), plan(prompt=1), plan(task_id="u")]
    seeds = [tuple(m.seed for m in made.members) for made in (plan(), *others)]
    assert len(set(seeds)) == 5


def test_independent_members_have_their_own_faults() -> None:
    assert len({m.seed for m in plan().members}) == 16


def test_synchronous_members_share_one_fault_plan() -> None:
    members = plan(Group(faults="synchronous")).members
    assert len({m.seed for m in members if m.injected}) == 1
    assert len({m.seed for m in members if not m.injected}) == 8


@pytest.mark.parametrize(("mix", "injected"), [("all_clean", 0), ("all_injected", 16)])
def test_one_kind_only(mix: Any, injected: int) -> None:
    made = plan(Group(mix=mix))
    assert sum(m.injected for m in made.members) == injected
    assert (made.scenario is None) is (injected == 0)


def test_scenarios_are_drawn_per_prompt_by_the_mix() -> None:
    drawn = Counter(plan(prompt=n, iteration=n % 7).scenario for n in range(2000))
    for name, share in FULL.items():
        assert drawn[name] / 2000 == pytest.approx(share, abs=0.04)


def test_only_certified_cells_are_used() -> None:
    def even_without_s2(scenario: Scenario, seed: int) -> bool:
        return scenario != "S2" and seed % 2 == 0

    made = [plan(prompt=n, certified=even_without_s2) for n in range(50)]
    assert {m.scenario for m in made} == {"S1", "S3"}
    assert all(m.seed % 2 == 0 for one in made for m in one.members if m.injected)


@pytest.mark.parametrize("faults", ["independent", "synchronous"])
def test_a_task_without_any_certified_cell_stays_clean(faults: Any) -> None:
    made = plan(Group(faults=faults), certified=lambda scenario, seed: False)
    assert made.scenario is None
    assert not any(m.injected for m in made.members)


def test_a_phase_lowers_the_budget_and_never_raises_it() -> None:
    paper = load_profile("paper")
    assert phase_profile(paper, 2).budget == 2
    assert phase_profile(paper, 9).budget == 5
    assert phase_profile(paper, 2).probabilities == paper.probabilities
