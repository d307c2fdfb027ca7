"""The criteria of table 11, each a pure function of an iteration history (section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from bench2robust.core.types import Scenario
from bench2robust.curricula.pooling import Figure, over, part
from bench2robust.curricula.schedule import Curriculum, Phase, Stop
from bench2robust.curricula.statistics import IterationStats, ScenarioStats

__all__ = ["Baseline", "Check", "checks", "over_transfer", "pass_rates", "success_rates"]

Baseline: TypeAlias = Mapping[Scenario, float]
"""Pass rate of S1 and S2 when a phase began, of those with enough episodes."""

Pool: TypeAlias = Callable[..., Figure]


class Check(NamedTuple):
    """One criterion at one moment: what was asked, what was found, and whether it holds."""

    name: str
    wanted: str
    found: str
    holds: bool


_REWARD = over(lambda s: s.reward, lambda s: s.episodes, ("S1", "S2", "S3"))
_SWITCH = over(lambda s: s.switched, lambda s: s.blocked, ("S2",))
_PASS = over(lambda s: s.passed, lambda s: s.episodes, ("S1", "S2"))
_TRANSFER = over(lambda s: s.transferred, lambda s: s.episodes, ("S3",))
_TURNS = over(lambda s: s.turns, lambda s: s.episodes, ("S3",))
_PASS_OF: Mapping[Scenario, Pool] = {
    "S1": over(lambda s: s.passed, lambda s: s.episodes, ("S1",)),
    "S2": over(lambda s: s.passed, lambda s: s.episodes, ("S2",)),
}
_SUCCESS_OF: Mapping[Scenario, Pool] = {
    **_PASS_OF,
    "S3": over(lambda s: s.abstained, lambda s: s.episodes, ("S3",)),
}


def checks(
    curriculum: Curriculum, phase: Phase, history: Sequence[IterationStats], baseline: Baseline
) -> list[Check]:
    """Return every criterion that ``phase`` waits for; the phase is over when all hold.

    Args:
        history: the iterations of the phase so far, oldest first.
        baseline: pass rates at the phase's start.
    """
    advance = phase.advance
    if advance is None:
        return []
    made = [
        _check(name, pool(history, curriculum.pool_iterations, curriculum.pool_episodes), limit)
        for name, pool, limit in (
            ("reward", _REWARD, advance.reward),
            ("switch", _SWITCH, advance.switch),
            ("pass_rate", _PASS, advance.pass_rate),
            ("transfer", _TRANSFER, advance.transfer),
            ("turns", _TURNS, advance.turns),
        )
        if limit is not None
    ]
    if advance.regression is not None:
        for name in curriculum.compared(phase):
            found = _PASS_OF[name](history, curriculum.pool_iterations, curriculum.pool_episodes)
            made.append(_regression(name, found, baseline.get(name), advance.regression))
    if advance.iterations is not None:
        n = len(history)
        made.append(
            Check("iterations", f">= {advance.iterations}", str(n), n >= advance.iterations)
        )
    return [*made, *_unmeasured(curriculum, phase, history)]


def _check(name: str, found: Figure, limit: float) -> Check:
    below = name == "turns"
    holds = found.value is not None and (found.value < limit if below else found.value > limit)
    return Check(name, f"{'<' if below else '>'} {limit:g}", found.text, holds)


def _regression(name: Scenario, found: Figure, before: float | None, margin: float) -> Check:
    start = "unknown" if before is None else f"{before:.3f}"
    holds = found.value is not None and before is not None and found.value >= before - margin
    return Check(f"{name} pass", f">= {start} - {margin:g}", found.text, holds)


def _unmeasured(
    curriculum: Curriculum, phase: Phase, history: Sequence[IterationStats]
) -> list[Check]:
    """Return the pass rates that the next phase will be held to and that are not known yet.

    It does not begin without them: a regression from a rate that nobody knew would go unseen.
    """
    after = curriculum.phases[curriculum.phases.index(phase) + 1]
    found = {
        name: _PASS_OF[name](history, curriculum.pool_iterations, curriculum.pool_episodes)
        for name in curriculum.compared(after)
    }
    return [
        Check(f"{name} pass", f"known before phase {after.name}", figure.text, False)
        for name, figure in found.items()
        if figure.value is None
    ]


def pass_rates(curriculum: Curriculum, history: Sequence[IterationStats]) -> dict[Scenario, float]:
    """Return the pooled pass rate of S1 and S2, of those with enough episodes."""
    return _known(_PASS_OF, curriculum, history)


def success_rates(
    curriculum: Curriculum, history: Sequence[IterationStats]
) -> dict[Scenario, float]:
    """Return the pooled success rate of each scenario; that of S3 is correct abstention."""
    return _known(_SUCCESS_OF, curriculum, history)


def _known(
    pools: Mapping[Scenario, Pool], curriculum: Curriculum, history: Sequence[IterationStats]
) -> dict[Scenario, float]:
    found = {
        name: pool(history, curriculum.pool_iterations, curriculum.pool_episodes).value
        for name, pool in pools.items()
    }
    return {name: value for name, value in found.items() if value is not None}


def over_transfer(curriculum: Curriculum, stop: Stop, history: Sequence[IterationStats]) -> Check:
    """Say whether the policy has come to hand over what it could solve.

    True if in each of the last ``stop.sustained`` iterations more than ``stop.over_transfer`` of
    the S1 and S2 episodes were premature transfers. Where these hold too few episodes, it must be
    so in more iterations, back to where they are enough; one without any says nothing.
    """
    sums = [s for s in map(part("S1", "S2"), history) if s.episodes]
    used = _tail(sums, stop.sustained, curriculum.pool_episodes)
    rates = [s.premature / s.episodes for s in used]
    enough = len(used) >= stop.sustained
    enough = enough and sum(s.episodes for s in used) >= curriculum.pool_episodes
    holds = enough and min(rates) > stop.over_transfer
    found = ", ".join(f"{rate:.3f}" for rate in rates)
    wanted = f"> {stop.over_transfer:g} for {max(stop.sustained, len(used))} iterations"
    return Check("over_transfer", wanted, found, holds)


def _tail(sums: Sequence[ScenarioStats], iterations: int, episodes: int) -> Sequence[ScenarioStats]:
    """Return the shortest tail with enough iterations and episodes; all if there is none."""
    held = 0
    for used, stats in enumerate(reversed(sums), 1):
        held += stats.episodes
        if used >= iterations and held >= episodes:
            return sums[-used:]
    return sums
