"""Playing one cell: from its certificate over its episode to its record."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench2robust.agents import Brief, make_agent
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.domain import Domain
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.arms import Arm
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.cast import Cast, note_models, note_review
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.modes import Mode
from bench2robust.evaluation.play import act, converse
from bench2robust.evaluation.record import EpisodeRecord, Status
from bench2robust.evaluation.reviewer import (
    Dialogue,
    ScriptedReviewer,
    reviewed,
    reviewed_async,
)

__all__ = ["Cell", "Place", "Player", "describe"]

_STATUS_OF: Mapping[str, Status] = {
    "certified": "ok",
    "not_applicable": "not_applicable",
    "excluded": "uncertified",
}


class Place(NamedTuple):
    """Where episodes are to be played, and the arms that are, each with its memory block."""

    mode: Mode
    task: Task
    seed: int
    arms: list[tuple[Arm, str]]


class Cell(NamedTuple):
    """One episode to be played, or, unless ``status`` is ``ok``, to be noted only."""

    arm: Arm
    memory: str
    mode: Mode
    task: Task
    seed: int
    scenario: Scenario | None
    settings: EpisodeSettings
    status: Status
    reason: str

    @property
    def name(self) -> str:
        """How ``replay`` names the episode."""
        return f"{self.arm.label}/{self.mode.name}/{self.task.id}/{self.seed}"


class Player:
    """Plays cells, one at a time or interleaved, and holds nothing of a run but its settings.

    Attributes:
        cast: the models that take part; needed only where a cell's arm awaits one.
    """

    def __init__(self, config: EvalConfig, domain: Domain) -> None:
        self.cast: Cast
        self._certify = config.certify
        self._domain = domain
        self._builder = RecordBuilder(domain, config.transcripts)

    def cells(self, place: Place) -> Iterator[Cell]:
        """Yield the cells of a place; its arms share one certificate."""
        mode, task, seed, arms = place
        scenario = mode.scenario(task.id, seed)
        status, reason = self._verdict(mode, task, seed, scenario)
        around = mode.around(scenario)
        for arm, memory in arms:
            settings = around
            if arm.monitor is not around.monitor:
                settings = replace(around, monitor=arm.monitor)
            yield Cell(arm, memory, mode, task, seed, scenario, settings, status, reason)

    async def attend(self, cell: Cell) -> EpisodeRecord:
        """Play one cell, letting others have their turn after each action."""
        if cell.arm.awaits and cell.status == "ok":
            return await self._converse(cell)
        playing = self.play(cell)
        while True:
            try:
                next(playing)
            except StopIteration as end:
                record: EpisodeRecord = end.value
                return record
            await asyncio.sleep(0)

    def _verdict(
        self, mode: Mode, task: Task, seed: int, scenario: Scenario | None
    ) -> tuple[Status, str]:
        """Say whether a cell may be scored, and why not."""
        domain = self._domain
        try:
            if scenario is None:
                return "ok", ""
            if not self._certify:
                reason = analyse(domain, task).reason(scenario)
                return "not_applicable" if reason else "ok", reason
            proof = certify(domain, task, scenario, seed, mode.settings)
        except Exception as error:
            return "infra_error", describe(error)
        # Without the name of its task, so that equal reasons are counted together.
        reason = proof.reason.removeprefix(f"task {task.id!r} has no {scenario}: ")
        return _STATUS_OF[proof.status], reason

    def play(self, cell: Cell) -> Generator[None, None, EpisodeRecord]:
        """Play one cell, pausing after each action; whatever breaks outside the agent is noted."""
        domain = self._domain
        status, reason = cell.status, cell.reason
        if status == "ok":
            try:
                episode = Episode(domain, cell.task, cell.seed, cell.settings)
                brief = self._brief(cell, episode)
                actions, dialogue = make_agent(cell.arm.agent, brief).run(), Dialogue()
                if cell.arm.reviewer:
                    actions = reviewed(actions, ScriptedReviewer(brief), dialogue)
                yield from act(actions, episode)
                record = self._builder.build(episode, cell.arm.label, cell.mode.name)
                if cell.arm.reviewer:
                    note_review(record, cell.arm, dialogue, None)
                return record
            except Exception as error:
                status, reason = "infra_error", describe(error)
        return self._unplayed(cell, status, reason)

    async def _converse(self, cell: Cell) -> EpisodeRecord:
        """Play one cell in which models take part, as :meth:`play`."""
        arm, task, mode = cell.arm, cell.task, cell.mode
        place = (arm, mode.name, cell.seed)
        try:
            user = self.cast.user(task, *place)
            opening = None if user is None else await user.simulator.open()
            episode = Episode(self._domain, task, cell.seed, cell.settings, opening=opening)
            brief = self._brief(cell, episode)
            agent = self.cast.agent(brief, *place)
            acting = make_agent(arm.agent, brief) if agent is None else agent.policy
            actions, dialogue = acting.run(), Dialogue()
            model = self.cast.reviewer(brief, *place)
            if arm.reviewer:
                reviewer = ScriptedReviewer(brief) if model is None else model.reviewer
                actions = reviewed_async(actions, reviewer, dialogue)
            await converse(actions, episode, user and user.simulator)
            record = self._builder.build(episode, arm.label, mode.name)
            note_models(record, episode, agent, user)
            if arm.reviewer:
                note_review(record, arm, dialogue, model)
            return record
        except RunStoppedError:
            raise
        except Exception as error:
            return self._unplayed(cell, "infra_error", describe(error))

    def _brief(self, cell: Cell, episode: Episode) -> Brief:
        settings = episode.settings
        return Brief(
            episode.domain,
            cell.task,
            episode.opening,
            settings.alternatives,
            settings.max_steps,
            cell.memory,
        )

    def _unplayed(self, cell: Cell, status: Status, reason: str) -> EpisodeRecord:
        return self._builder.unplayed(
            cell.arm.label, cell.mode.name, cell.task, cell.seed, cell.scenario, status, reason
        )


def describe(error: BaseException) -> str:
    """Return the error and where it was raised, as one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
