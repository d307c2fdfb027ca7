"""Scenarios S1, S2 and S3 (section 2.1): which tools an episode blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Literal, NamedTuple, get_args

from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.solvability import Analysis, Sides
from bench2robust.core.types import Scenario

__all__ = ["S2Classes", "ScenarioPlan", "Side", "draw_scenario", "plan_scenario"]

Side = Literal["random", "primary", "alternative", "first_called"]
S2Classes = Literal["one", "all"]
SidePair = tuple[frozenset[str], frozenset[str]]

_SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)
_HEAVIEST = 1e300  # so that a sum of weights is still a number


class ScenarioPlan(NamedTuple):
    """What a scenario blocks in one episode.

    Attributes:
        scenario: S1, S2 or S3.
        blocked: tools blocked from the start.
        classes: names of the fallback classes that are hit.
        side: S2: the side that is blocked (``mixed`` if it differs between classes); else empty.
        first_called: S2 with ``first_called``: the two sides of each class.
    """

    scenario: Scenario
    blocked: frozenset[str] = frozenset()
    classes: tuple[str, ...] = ()
    side: str = ""
    first_called: tuple[SidePair, ...] = ()


def draw_scenario(seed: int, task_id: str, mix: Mapping[Scenario, float]) -> Scenario:
    """Return the scenario of an episode, drawn by its key.

    Args:
        mix: weight of each scenario (table 11); the weights need not sum to 1.

    Raises:
        UsageError: a scenario is unknown, a weight is negative or no number, or all weights are 0.
    """
    weights = _weights(mix)
    at = uniform("scenario", seed, task_id) * sum(weights.values())
    for scenario, weight in weights.items():
        at -= weight
        if at < 0:
            return scenario
    return list(weights)[-1]  # rounding may leave a crumb


def _weights(mix: Mapping[Scenario, float]) -> dict[Scenario, float]:
    for name, weight in mix.items():
        if name not in _SCENARIOS:
            raise UnknownNameError("scenario in a mix", name, _SCENARIOS)
        if not isinstance(weight, Real) or not 0 <= weight <= _HEAVIEST:
            raise UsageError(
                f"Scenario mix: {name} is {shown(weight)}; a weight is a number of 0 or more, "
                f"at most {_HEAVIEST:g}."
            )
    weights = {name: float(mix[name]) for name in _SCENARIOS if mix.get(name, 0) > 0}
    if not weights:
        raise UsageError("Scenario mix: every weight is 0; give one of S1, S2, S3 a weight.")
    return weights


def plan_scenario(
    scenario: Scenario,
    analysis: Analysis,
    seed: int,
    task_id: str,
    *,
    side: Side = "random",
    s2_classes: S2Classes = "one",
) -> ScenarioPlan | None:
    """Return what a scenario blocks, or None if it does not apply to the task.

    Args:
        analysis: what blocking does to the task.
        side: which side of a class S2 blocks: ``random`` is 50/50 by key (section 2.1),
            ``first_called`` the side that the agent calls first, so that no habit avoids the
            switch.
        s2_classes: S2 blocks a side of one switchable class, drawn by key, or of all of them that
            can be blocked together.

    Raises:
        UsageError: ``all`` and ``first_called`` are asked for together.
    """
    if scenario == "S1":
        return ScenarioPlan("S1")
    if scenario == "S3":
        return _plan_s3(analysis)
    if not analysis.switchable:
        return None
    if s2_classes == "one":
        return _plan_s2([choose(analysis.switchable, "class", seed, task_id)], seed, task_id, side)
    if side == "first_called":
        raise UsageError("s2_classes 'all' cannot go with side 'first_called': choose one of them.")
    return _plan_all(analysis, seed, task_id, side)


def _plan_s3(analysis: Analysis) -> ScenarioPlan | None:
    if not analysis.impossible:
        return None
    return ScenarioPlan("S3", analysis.impossible, tuple(s.name for s in analysis.critical))


def _plan_s2(hit: Sequence[Sides], seed: int, task_id: str, side: Side) -> ScenarioPlan:
    classes = tuple(s.name for s in hit)
    if side == "first_called":
        pairs = tuple((s.primary, s.alternative) for s in hit)
        return ScenarioPlan("S2", classes=classes, side=side, first_called=pairs)
    chosen = [_side(s, seed, task_id) if side == "random" else side for s in hit]
    blocked = frozenset[str]().union(
        *(s.primary if c == "primary" else s.alternative for s, c in zip(hit, chosen, strict=True))
    )
    return ScenarioPlan("S2", blocked, classes, chosen[0] if len(set(chosen)) == 1 else "mixed")


def _plan_all(analysis: Analysis, seed: int, task_id: str, side: Side) -> ScenarioPlan:
    """Block a side of every class, leaving out those that together with others end the task."""
    hit: list[Sides] = []
    for sides in analysis.switchable:
        plan = _plan_s2([*hit, sides], seed, task_id, side)
        if analysis.passes(plan.blocked):
            hit.append(sides)
    return _plan_s2(hit, seed, task_id, side)


def _side(sides: Sides, seed: int, task_id: str) -> str:
    return "primary" if uniform("side", seed, task_id, sides.name) < 0.5 else "alternative"
