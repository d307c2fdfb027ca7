"""Certificates: proof by execution that a (task, scenario, seed) cell is what it claims to be.

* S1: a ledger-aware agent that repeats exactly the faulted calls succeeds within the step limit.
* S2: that agent, through the open side, succeeds; a plan that stays on the blocked side fails
  however often it retries.
* S3: a bounded search over calls and alternatives finds no success, and doing nothing is none.

A certificate names its witness, the calls that really ran; :mod:`bench2robust.evaluation.checker`
replays it on a bare backend. A cell without a certificate is used for neither training nor scoring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bench2robust.agents.base import Brief
from bench2robust.agents.moves import Move, Situation, Strategy
from bench2robust.agents.scripted import ScriptedAgent
from bench2robust.core.dataflow import Plan
from bench2robust.core.domain import Domain
from bench2robust.core.search import search
from bench2robust.core.solvability import Analysis, solve
from bench2robust.core.types import Scenario, Task, ToolCall
from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
from bench2robust.evaluation.play import play
from bench2robust.injectors.engine import FaultInjector

__all__ = ["Certificate", "certify"]


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
    steps: int = 0


def certify(
    domain: Domain, task: Task, scenario: Scenario, seed: int, settings: EpisodeSettings
) -> Certificate:
    """Try to certify one cell under the faults, side and step limit of ``settings``."""
    try:
        episode = Episode(domain, task, seed, replace(settings, scenario=scenario))
    except NotApplicableError as error:
        return Certificate(task.id, scenario, seed, "not_applicable", str(error))
    blocked = episode.scenario.blocked
    made = Certificate(
        task.id, scenario, seed, "certified", "", tuple(sorted(blocked)), episode.scenario.side
    )
    if scenario == "S3":
        return _impossible(made, episode.analysis, blocked)
    play(ledger_aware(episode).run(), episode)
    witness = tuple(e.call for e in episode.executed.entries if not e.result.is_error)
    made = replace(made, witness=witness, steps=episode.steps)
    if not episode.outcome().success:
        limit = episode.settings.max_steps
        return replace(made, status="excluded", reason=f"no success within {limit} steps")
    if scenario == "S2" and not _needs_switch(domain, task, episode.analysis, made.side, blocked):
        return replace(made, status="excluded", reason="the blocked side is not needed")
    return made


def ledger_aware(episode: Episode) -> ScriptedAgent:
    """Return the reference agent that sees the injector's ledger."""
    brief = Brief(
        episode.domain,
        episode.task,
        episode.opening,
        episode.settings.alternatives,
        episode.settings.max_steps,
    )
    return ScriptedAgent("ledger_aware", brief, _ledger_strategy(episode.injector))


def _ledger_strategy(injector: FaultInjector) -> Strategy:
    def decide(situation: Situation) -> Move:
        event = injector.last
        if event is None or event.delivered is None:
            return Move.PROCEED
        if event.planned == "blocked":
            return Move.SWITCH
        if situation.writes and event.executed:
            look = situation.missing and situation.landed is None
            return Move.VERIFY if look else Move.PROCEED
        return Move.RETRY

    return decide


def _impossible(made: Certificate, analysis: Analysis, blocked: frozenset[str]) -> Certificate:
    """S3: the analysis has searched for exactly its own set of blocked tools; any other is new."""
    domain, task, proven = analysis.domain, analysis.task, analysis.impossible
    if domain.evaluate(task, domain.session(task, True), (), ()).success:
        return replace(made, status="excluded", reason="doing nothing passes")
    if blocked != proven and search(domain, task, blocked):
        return replace(made, status="excluded", reason="a search found a success")
    return made


def _needs_switch(
    domain: Domain, task: Task, analysis: Analysis, side: str, blocked: frozenset[str]
) -> bool:
    """Whether a plan that stays on the blocked side fails."""
    if side == "primary":
        return not _stays(domain, task, analysis.plan, blocked)
    return True  # the alternative side is blocked: the plan's own tools are open


def _stays(domain: Domain, task: Task, plan: Plan, blocked: frozenset[str]) -> bool:
    return solve(domain, task, plan, blocked, switch=False).success
