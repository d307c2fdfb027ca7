"""Examining a policy: it plays fixed cells, and every episode becomes a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import nn

from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import Store
from bench2robust.training.campaign import Campaign
from bench2robust.training.engine import Engine
from bench2robust.training.preemption import PreemptedError, StopRequest

__all__ = ["MODES", "Cell", "cells", "examine", "faced", "passed"]

MODES: dict[str, Scenario | None] = {"clean": None, "s1": "S1", "s2": "S2", "s3": "S3"}
"""The modes of an examination and their scenario; the alternative tools are offered in each."""

_BATCH = 128


class Cell(NamedTuple):
    """One episode to be played."""

    mode: str
    task: Task
    seed: int


def cells(campaign: Campaign, tasks: Sequence[Task], seed: int) -> list[Cell]:
    """Return the certified cells of ``tasks`` in every mode.

    Args:
        seed: of the faults.
    """
    return [
        Cell(mode, task, seed)
        for mode, scenario in MODES.items()
        for task in tasks
        if scenario is None or _certified(campaign, task, scenario, seed)
    ]


def _certified(campaign: Campaign, task: Task, scenario: Scenario, seed: int) -> bool:
    if analyse(campaign.domain, task).reason(scenario):
        return False
    around = campaign.surroundings(scenario)
    return certify(campaign.domain, task, scenario, seed, around).status == "certified"


def examine(
    model: nn.Module,
    engine: Engine,
    campaign: Campaign,
    wanted: Sequence[Cell],
    agent: str,
    store: Store | None = None,
    stop: StopRequest | None = None,
) -> list[EpisodeRecord]:
    """Let a policy play cells and return the records; with a store, keep them there too.

    What the store holds already is not played again and not returned.

    Args:
        stop: says whether the run was told to end.

    Raises:
        PreemptedError: it was.
        InfrastructureError: too many episodes of a batch failed for reasons outside the policy.
    """
    if store is not None:
        wanted = [c for c in wanted if (agent, c.mode, c.task.id, c.seed) not in store.finished]
    made: list[EpisodeRecord] = []
    for part in _parts(wanted):
        if stop:
            raise PreemptedError("Told to end during the examination, which goes on from there.")
        rollouts = campaign.open_all(
            [(c.task, c.seed, campaign.surroundings(MODES[c.mode])) for c in part]
        )
        engine.play(model, rollouts, [("examine", c.mode, c.task.id, c.seed) for c in part])
        records = [
            campaign.score(rollout, agent, cell.mode).record
            for cell, rollout in zip(part, rollouts, strict=True)
        ]
        if store is not None:
            for record in records:
                store.append(record, 0.0)
        failed = [record["reason"] for record in records if record["status"] != "ok"]
        campaign.check_failures(failed, len(records))
        made += records
    return made


def _parts(wanted: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    for start in range(0, len(wanted), _BATCH):
        yield wanted[start : start + _BATCH]


def faced(record: EpisodeRecord) -> bool:
    """Say whether a scored episode met what its mode is about; a clean one always does."""
    return record["status"] == "ok" and record["realized"] == record["scenario"]


def passed(record: EpisodeRecord) -> bool:
    """Say whether an episode ended as it should: in S3, in a correct abstention."""
    return record["abstained"] if record["scenario"] == "S3" else record["success"]
