"""``Bench2Robust-RetailRecovery``: the recovery decision as a classic decision process."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from sys import float_info
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from bench2robust.agents.base import Brief, Observation, Say
from bench2robust.agents.executor import PlanExecutor
from bench2robust.agents.moves import Move, Situation
from bench2robust.agents.signals import SIGNALS
from bench2robust.core.errors import UsageError, shown
from bench2robust.core.types import Scenario
from bench2robust.domains import get_domain
from bench2robust.envs.abstention import abstained
from bench2robust.envs.episode import Episode
from bench2robust.envs.lottery import Lottery, ScenarioChoice
from bench2robust.envs.setup import NotCopied, check_keywords, episode_settings, suite_metadata
from bench2robust.injectors.scenarios import Side
from bench2robust.monitors.choice import NONE

__all__ = ["FIELDS", "RECEIPT_FIELDS", "RetailRecoveryEnv", "encode", "possible"]

Vector: TypeAlias = NDArray[np.float32]
Info: TypeAlias = dict[str, Any]

FULL_REPERTOIRE: Mapping[Scenario, float] = {"S1": 0.30, "S2": 0.45, "S3": 0.25}
"""The mix of the last phase of the curriculum (table 11)."""

_DRAWS = 100
_MANY = 8
"""Counts of failures, fetches and paths are told apart up to here."""

FIELDS = (
    *(f"signal={name or 'none'}" for name in SIGNALS),
    *("writes", "switched", "missing", "matters", "last", "looked", "landed"),
    *("failures", "fetches", "alternatives", "agreeing", "steps_left", "steps_needed"),
)
"""What each element of an observation holds; the names of tools are not among it."""
RECEIPT_FIELDS = ("receipt", "listed")
"""What follows where a monitor watches: a receipt came, and it lists the next alternative."""

_ONE_HOT = {name: tuple(float(name == other) for other in SIGNALS) for name in SIGNALS}


def encode(situation: Situation, max_steps: int, receipts: bool = False) -> Vector:
    """Return a situation as numbers from 0 to 1, shape ``(len(FIELDS),)``.

    Counts are divided by 8 and steps by ``max_steps``; larger ones are cut to 1. With ``receipts``
    :data:`RECEIPT_FIELDS` follow.
    """
    s = situation
    elements = (
        *_ONE_HOT[s.signal],
        *(s.writes, s.switched, s.missing, s.matters, s.last, s.landed is not None),
        s.landed is True,
        min(1.0, s.failures / _MANY),
        min(1.0, s.fetches / _MANY),
        min(1.0, s.alternatives / _MANY),
        min(1.0, s.agreeing / _MANY),
        s.steps_left / max_steps,
        min(1.0, s.steps_needed / max_steps),
        *((s.receipt, s.listed) if receipts else ()),
    )
    return np.array(elements, dtype=np.float32)


def possible(situation: Situation) -> NDArray[np.int8]:
    """Return for each move whether it does something of its own here, shape ``(6,)``.

    A move that does not counts as ``PROCEED``.
    """
    s = situation
    verify = not s.writes or s.landed is None
    return np.array((1, 1, s.alternatives > 0, verify, 1, 1), dtype=np.int8)


class RetailRecoveryEnv(NotCopied, gym.Env[Vector, np.int64]):
    """What to do with what a tool just returned, decided again after each call.

    The rest of the episode is driven by the scripted agent: it executes the task's plan, reading
    its arguments from what it observed, so that a wrong decision has consequences.

    **Action**: a :class:`~bench2robust.agents.moves.Move`: proceed, retry, switch, verify, ask or
    abstain. ``info["action_mask"]`` has a 1 for each move that does something here; the others
    count as proceed.

    **Observation**: the situation as numbers from 0 to 1, see :data:`FIELDS`; with a monitor,
    :data:`RECEIPT_FIELDS` follow. It holds what any client of the tools can see, and nothing of the
    scenario.

    **Reward**: 0 until the end; then 1 if the task is completed, ``abstain_reward`` for a correct
    abstention in S3 (see :mod:`bench2robust.envs.abstention`), and else 0.

    **End**: terminated when the user, the agent or the plan ends; truncated after ``max_steps``
    tool calls and messages. The last observation is zeros; its ``info["episode"]`` tells task,
    seed, scenario, success, abstention and steps.

    Args:
        split: the tasks to draw from: ``train``, ``test`` or ``all``.
        task_id: the one task, of any split, to play.
        scenario: ``S1``, ``S2`` or ``S3``; a mapping of these to weights; or None. The default is
            :data:`FULL_REPERTOIRE`.
        faults: a fault profile: a name, the path of a YAML file, or a mapping.
        side: which side of a fallback class S2 blocks. The scripted agent starts on the primary
            one, so with ``primary`` and ``first_called`` every S2 episode asks for a switch.
        abstain_reward: for a correct abstention in S3; 0 is the paper's reward.
        benchmark_version: if given, the version that must be installed.
        max_steps: tool calls and messages of an episode.
        monitor: the outcome monitor between the tools and the agent: ``none``, ``auto`` or a
            contract file for receipts, or an arm, as in ``bench2robust eval``. The scripted agent
            then leaves a write whose ground a receipt doubts to the tool.
        data: where the store's data are; None for the built-in suite.

    Raises:
        UsageError: an argument is unknown or has a bad value.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        *,
        split: str = "train",
        task_id: str | None = None,
        scenario: ScenarioChoice = FULL_REPERTOIRE,
        faults: str | Mapping[str, Any] = "paper",
        side: Side = "primary",
        abstain_reward: float = 1.0,
        benchmark_version: str | None = None,
        max_steps: int = 25,
        monitor: str = "none",
        data: str | None = None,
        **unknown: Any,
    ) -> None:
        check_keywords(unknown, RetailRecoveryEnv)
        number = isinstance(abstain_reward, (int, float)) and not isinstance(abstain_reward, bool)
        if not number or not abs(abstain_reward) <= float_info.max:
            raise UsageError(f"abstain_reward must be a finite number, not {shown(abstain_reward)}")
        self._domain = get_domain("retail", data)
        settings = episode_settings(self._domain, faults, True, side, max_steps, monitor)
        self._lottery = Lottery(self._domain, split, task_id, scenario, settings)
        self._max_steps = max_steps
        self._receipts = settings.monitor != NONE
        self._abstain_reward = float(abstain_reward)
        identity = suite_metadata(self._domain, benchmark_version)
        self.metadata = {**RetailRecoveryEnv.metadata, **identity}
        fields = (*FIELDS, *RECEIPT_FIELDS) if self._receipts else FIELDS
        self.observation_space = gym.spaces.Box(0.0, 1.0, (len(fields),), np.float32)
        self.action_space = gym.spaces.Discrete(len(Move))
        self._episode: Episode | None = None
        self._decisions: Generator[Situation, Move, None] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, Info]:
        """Start an episode and run it to its first decision.

        Args:
            seed: seeds the draw of the task, and is the seed of the faults.
            options: ``task_id``, ``scenario`` and ``fault_seed`` of this episode.
        """
        super().reset(seed=seed)
        for _ in range(_DRAWS):
            self._episode = self._lottery.draw(self.np_random, seed, options)
            self._decisions = _decisions(self._episode)
            situation = next(self._decisions, None)
            if situation is not None:
                return self._seen(situation)
        raise UsageError(
            f"no decision to make: with max_steps={self._max_steps} no task that was drawn comes "
            f"to the result of a tool call; raise max_steps, or draw other tasks"
        )

    def step(self, action: int | np.int64) -> tuple[Vector, float, bool, bool, Info]:
        """Make a move and run the episode to its next decision."""
        if action not in self.action_space:
            raise UsageError(
                f"an action is a Move, a whole number from 0 to {len(Move) - 1}, "
                f"not {shown(action)}"
            )
        episode = self._episode
        if episode is None or self._decisions is None:
            raise gym.error.ResetNeeded("call reset() before step(), and again after the end")
        try:
            situation = self._decisions.send(Move(int(action)))
        except StopIteration:
            self._decisions = None
            return self._finish(episode)
        observation, info = self._seen(situation)
        return observation, 0.0, False, False, info

    def _finish(self, episode: Episode) -> tuple[Vector, float, bool, bool, Info]:
        success, handed_over = episode.outcome().success, abstained(episode)
        facts = {
            "task": episode.task.id,
            "seed": episode.seed,
            "scenario": episode.settings.scenario,
            "success": success,
            "abstained": handed_over,
            "steps": episode.steps,
        }
        reward = 1.0 if success else self._abstain_reward * handed_over
        truncated = episode.ended == "step_limit"
        nothing = np.zeros(self.observation_space.shape or (), dtype=np.float32)
        info = {"action_mask": np.ones(len(Move), dtype=np.int8), "episode": facts}
        return nothing, reward, not truncated, truncated, info

    def _seen(self, situation: Situation) -> tuple[Vector, Info]:
        seen = encode(situation, self._max_steps, self._receipts)
        return seen, {"action_mask": possible(situation)}


def _decisions(episode: Episode) -> Generator[Situation, Move, None]:
    """Let the scripted agent act until the episode is over, pausing at each decision."""
    settings = episode.settings
    brief = Brief(
        episode.domain, episode.task, episode.opening, settings.alternatives, settings.max_steps
    )
    driven = PlanExecutor(brief, heeds=settings.monitor != NONE).run()
    back: Observation | Move | None = None
    while not episode.check_limit():
        try:
            item = driven.send(back)  # type: ignore[arg-type]
        except StopIteration:
            return
        if isinstance(item, Situation):
            back = yield item
        else:
            back = episode.say(item.text) if isinstance(item, Say) else episode.call(item)
