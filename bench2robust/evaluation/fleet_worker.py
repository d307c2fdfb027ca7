"""The far end of a fleet: a process that builds the suite once and plays the shards it is sent.

It writes nothing. All that a shard gave goes back in one report, with what broke, if anything did.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from bench2robust.agents.chat import Attempt
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.errors import Bench2RobustError, InfrastructureError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.arms import Arm
from bench2robust.evaluation.cast import Cast
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.job import Job
from bench2robust.evaluation.manifest import package_version
from bench2robust.evaluation.modes import Mode
from bench2robust.evaluation.player import Place, Player, describe
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.request_log import RequestTotals

__all__ = ["Kit", "ModelWorker", "Report", "Shard", "pack", "play_shard"]

Shard: TypeAlias = list[tuple[str, str, int, list[tuple[str, str]]]]
"""For each place the names of mode and task, the seed, and label and memory block of each arm."""
Request: TypeAlias = tuple[dict[str, Any], str, str, Attempt]
"""What a request log is told of an attempt."""


class Kit(NamedTuple):
    """What a worker has to know of a job; the suite, which is large, it builds by itself.

    Attributes:
        suite: the digest of the suite, which the worker's own must have.
        version: that of the package, likewise.
    """

    config: EvalConfig
    modes: tuple[Mode, ...]
    arms: tuple[Arm, ...]
    suite: str
    version: str

    @classmethod
    def of(cls, job: Job) -> Kit:
        """Return the kit of a job, with paths that mean the same in any folder."""
        pinned = job.config.pinned()
        paths = {name: pinned[name] for name in ("data", "prices")}
        config = job.config.model_copy(update=paths)
        return cls(config, job.modes, job.arms, job.domain.digest, package_version())


class Report(NamedTuple):
    """What came of a shard.

    Attributes:
        played: the records, each with the wall time of its episode in seconds.
        requests: attempts at requests since the last report, of other shards too.
        broken: what stopped the shard, as an error and its text.
    """

    played: list[tuple[EpisodeRecord, float]]
    requests: list[Request]
    broken: tuple[type[Bench2RobustError], str] | None = None

    def check(self) -> None:
        """Raise what stopped the shard, if anything did."""
        if self.broken:
            kind, text = self.broken
            raise kind(text)


def pack(places: Iterable[Place]) -> Shard:
    """Return the places as names, which are far smaller than what they name."""
    return [
        (mode.name, task.id, seed, [(arm.label, memory) for arm, memory in arms])
        for mode, task, seed, arms in places
    ]


def play_shard(kit: Sequence[Any], shard: Shard) -> Report:
    """Play a shard in which no model takes part.

    Args:
        kit: a reference to the :class:`Kit`, alone in a list.
    """
    try:
        worker = _worker(kit[0])
    except Exception as error:
        return Report([], [], _broken(error, "A worker could not start"))
    return asyncio.run(worker.play(shard))


@lru_cache(maxsize=1)
def _worker(kit: Any) -> _Worker:
    import ray

    return _Worker(ray.get(kit))


class ModelWorker:
    """An actor that plays many shards at a time, in which models take part."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._starting: asyncio.Task[_Worker] | None = None

    async def play(self, shard: Shard) -> Report:
        """Play a shard."""
        self._starting = self._starting or asyncio.create_task(self._start())
        try:
            worker = await self._starting
        except Exception as error:
            return Report([], [], _broken(error, "A worker could not start"))
        return await worker.play(shard)

    async def _start(self) -> _Worker:
        worker = _Worker(self._kit)
        await worker.open()
        return worker


class _Worker:
    def __init__(self, kit: Kit) -> None:
        self._config = kit.config
        self._domain = get_domain(kit.config.domain, kit.config.data)
        self._modes = {mode.name: mode for mode in kit.modes}
        self._arms = {arm.label: arm for arm in kit.arms}
        self._player = Player(kit.config, self._domain)
        self._requests: list[Request] = []
        _check_same("suite", self._domain.digest, kit.suite)
        _check_same("version of bench2robust", package_version(), kit.version)
        gc.freeze()  # what tasks hold stays as long as the process

    async def open(self) -> None:
        """Open the endpoints of the models; the end of the process closes them."""
        nothing = RequestTotals(0, Counter(), 0, 0.0, 0)
        cast = Cast(self._config, lambda *request: self._requests.append(request), nothing)
        self._player.cast = await cast.__aenter__()

    async def play(self, shard: Shard) -> Report:
        """Play the cells of a shard in turn, until one of them breaks more than itself."""
        played: list[tuple[EpisodeRecord, float]] = []
        where = ""
        try:
            for mode, task, seed, arms in shard:
                where = f"{mode}/{task}/{seed}"
                known = [(self._arms[label], memory) for label, memory in arms]
                place = Place(self._modes[mode], self._domain.task(task), seed, known)
                for cell in self._player.cells(place):
                    where, began = cell.name, perf_counter()
                    record = await self._player.attend(cell)
                    played.append((record, perf_counter() - began))
        except Exception as error:
            return Report(played, self._noted(), _broken(error, f"{where} broke down"))
        return Report(played, self._noted())

    def _noted(self) -> list[Request]:
        noted, self._requests = self._requests, []
        return noted


def _check_same(what: str, own: str, wanted: str) -> None:
    if own != wanted:
        raise UsageError(f"its {what} is {own}, that of the run {wanted}: make all nodes alike.")


def _broken(error: Exception, what: str) -> tuple[type[Bench2RobustError], str]:
    """Return an error as what can be sent anywhere; one that is meant for a reader as it is."""
    if isinstance(error, RunStoppedError):
        return RunStoppedError, str(error)
    if isinstance(error, UsageError):
        return UsageError, f"{what}: {error}"
    return InfrastructureError, f"{what}: {describe(error)}"
