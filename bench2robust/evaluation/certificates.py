"""Certificates: proof by execution that a (task, scenario, seed) cell is what it claims to be.

* S1: a ledger-aware agent that repeats exactly the faulted calls succeeds within the step limit.
* S2: that agent, through the open side, succeeds; a plan that stays on the blocked side fails
  however often it retries.
* S3: a bounded search over calls and alternatives finds no success, and doing nothing is none.

A certificate names its witness, the calls that really ran; :mod:`bench2robust.evaluation.checker`
replays it on a bare backend. A cell without a certificate is used for neither training nor scoring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from bench2robust.agents.base import Brief
from bench2robust.agents.moves import Move, Situation, Strategy
from bench2robust.agents.scripted import ScriptedAgent
from bench2robust.core.domain import Domain
from bench2robust.core.solvability import solve
from bench2robust.core.types import Scenario, Task, ToolCall
from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
from bench2robust.evaluation.play import play
from bench2robust.injectors.engine import FaultInjector

__all__ = ["Certificate", "certify", "ledger_aware", "reference"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof, or the reason why there is none, for one cell.

    Attributes:
        status: ``certified``; ``not_applicable`` (the task has no such scenario); ``excluded``
            (it should have, but the proof failed).
        reason: why not, in words; empty if certified.
        blocked: the tools that the scenario blocks.
        side: which side of its class S2 blocks.
        witness: the calls that ran and led to success (none for S3).
        said: what was told to the user meanwhile.
        steps: how many steps the witness took, messages included.
    """

    task: str
    scenario: Scenario
    seed: int
    status: Literal["certified", "not_applicable", "excluded"]
    reason: str = ""
    blocked: tuple[str, ...] = ()
    side: str = ""
    witness: tuple[ToolCall, ...] = ()
    said: tuple[str, ...] = ()
    steps: int = 0


def certify(
    domain: Domain, task: Task, scenario: Scenario, seed: int, settings: EpisodeSettings
) -> Certificate:
    """Try to certify one cell under the faults, side and step limit of ``settings``."""
    try:
        episode = Episode(domain, task, seed, replace(settings, scenario=scenario))
    except NotApplicableError as error:
        return Certificate(task.id, scenario, seed, "not_applicable", str(error))
    made = Certificate(
        task.id, scenario, seed, "certified", "", _blocked(episode), episode.scenario.side
    )
    if scenario == "S3":
        return made  # the search for a success with just these tools blocked is what chose them
    play(ledger_aware(episode).run(), episode)
    witness = tuple(e.call for e in episode.executed.entries if not e.result.is_error)
    made = replace(
        made,
        blocked=_blocked(episode),
        witness=witness,
        said=tuple(episode.said),
        steps=episode.steps,
    )
    if not episode.outcome().success:
        limit = episode.settings.max_steps
        return replace(made, status="excluded", reason=f"no success within {limit} steps")
    if scenario == "S2" and _passes_without_switch(episode):
        return replace(made, status="excluded", reason="the blocked side is not needed")
    return made


def _blocked(episode: Episode) -> tuple[str, ...]:
    return tuple(sorted(episode.injector.blocked))


def _passes_without_switch(episode: Episode) -> bool:
    """Whether the plan passes with the blocked tools silent and nothing in their place.

    Where the side is blocked that the plan does not call, its own tools are the open side, and a
    plan through the blocked side has no tool that answers.
    """
    blocked, plan = episode.injector.blocked, episode.analysis.plan
    if blocked.isdisjoint(step.call.name for step in plan.steps):
        return False
    return solve(episode.domain, episode.task, plan, blocked, switch=False).success


def ledger_aware(episode: Episode) -> ScriptedAgent:
    """Return the reference agent of an episode that begins."""
    settings = episode.settings
    brief = Brief(
        episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
    )
    return reference(episode, brief)


def reference(
    episode: Episode, brief: Brief, recalled: Callable[[], bool] = lambda: False
) -> ScriptedAgent:
    """Return the reference agent, which has the gold plan and sees the injector's ledger.

    Args:
        recalled: whether its latest call was answered without being made, so that the ledger's
            latest entry is about an earlier one.
    """
    return ScriptedAgent("ledger_aware", brief, _ledger_strategy(episode.injector, recalled))


def _ledger_strategy(injector: FaultInjector, recalled: Callable[[], bool]) -> Strategy:
    def decide(situation: Situation) -> Move:
        event = None if recalled() else injector.last
        if event is None or event.delivered is None:
            return Move.PROCEED
        if event.planned == "blocked":
            return Move.SWITCH
        if situation.writes and event.executed:
            look = situation.missing and situation.landed is None
            return Move.VERIFY if look else Move.PROCEED
        return Move.RETRY

    return decide
