"""Hybrid groups: what each rollout of a prompt meets (section 3.3), as pure data.

The scenario is drawn per prompt; the members share task, prompt and tools, and the first of them
are clean. Everything is a pure function of (seed, iteration, prompt, task).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from bench2robust.core.keyed import uniform
from bench2robust.core.types import Scenario
from bench2robust.injectors.profiles import FaultProfile
from bench2robust.injectors.scenarios import draw_scenario
from bench2robust.training.config_groups import Group

__all__ = ["GroupPlan", "Member", "phase_profile", "plan_group"]

Certified = Callable[[Scenario, int], bool]
"""Whether the cell of the task with this scenario and fault seed is certified."""

_TRIES = 16
_SEEDS = 1 << 31


class Member(NamedTuple):
    """One rollout of a group.

    Attributes:
        place: in the group, from 0.
        injected: whether it meets faults.
        scenario: None for a clean member.
        seed: of its faults.
    """

    place: int
    injected: bool
    scenario: Scenario | None
    seed: int


class GroupPlan(NamedTuple):
    """What the members of one prompt's group get.

    Attributes:
        scenario: of the injected members; None if there are none, or if the task has no certified
            cell in the mix: then every member is clean.
        max_injections: the fault budget of the injected members.
    """

    task_id: str
    iteration: int
    prompt: int
    scenario: Scenario | None
    max_injections: int
    members: tuple[Member, ...]


def plan_group(
    group: Group,
    mix: Mapping[Scenario, float],
    max_injections: int,
    *,
    seed: int,
    iteration: int,
    prompt: int,
    task_id: str,
    certified: Certified = lambda scenario, seed: True,
) -> GroupPlan:
    """Return what each member of a group gets.

    A scenario without a certified cell for this task is left out of the mix and another drawn.

    Args:
        mix: shares of the scenarios, see ``PhaseState.mix``.
        max_injections: see ``PhaseState.max_injections``.
        prompt: place of the prompt in the iteration.
        certified: says which cells may be used.
    """
    clean = group.clean_members
    key = (seed, iteration, prompt, task_id)
    plan = _injected(group, mix, key, range(clean, group.size), certified)
    scenario, seeds = plan or (None, {})
    members = tuple(
        Member(i, i in seeds, scenario if i in seeds else None, seeds.get(i) or _seed(key, i, 0))
        for i in range(group.size)
    )
    return GroupPlan(task_id, iteration, prompt, scenario, max_injections, members)


_Key = tuple[int, int, int, str]


def _injected(
    group: Group,
    mix: Mapping[Scenario, float],
    key: _Key,
    places: range,
    certified: Certified,
) -> tuple[Scenario, dict[int, int]] | None:
    """Return the scenario, and the fault seed of each injected place; None if there is none."""
    left = dict(mix)
    while places and any(left.values()):
        scenario = draw_scenario(_seed(key, -1, 0), key[3], left)
        seeds = _fault_seeds(group, scenario, key, places, certified)
        if seeds is not None:
            return scenario, seeds
        del left[scenario]
    return None


def _fault_seeds(
    group: Group, scenario: Scenario, key: _Key, places: range, certified: Certified
) -> dict[int, int] | None:
    if group.faults == "synchronous":
        shared = _certified_seed(scenario, key, places[0], certified)
        return None if shared is None else dict.fromkeys(places, shared)
    seeds: dict[int, int] = {}
    for place in places:
        found = _certified_seed(scenario, key, place, certified)
        if found is None:
            return None
        seeds[place] = found
    return seeds


def _certified_seed(scenario: Scenario, key: _Key, place: int, certified: Certified) -> int | None:
    tried = (_seed(key, place, attempt) for attempt in range(_TRIES))
    return next((seed for seed in tried if certified(scenario, seed)), None)


def _seed(key: _Key, place: int, attempt: int) -> int:
    return int(uniform("group", *key, place, attempt) * _SEEDS)


def phase_profile(profile: FaultProfile, max_injections: int) -> FaultProfile:
    """Return the fault profile of a phase: its budget is the lower of the two."""
    return profile.model_copy(update={"budget": min(profile.budget, max_injections)})
