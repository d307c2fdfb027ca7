"""Running an evaluation: every cell once, in a fixed order, into a store that can be resumed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice, product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from bench2robust.core.errors import DataError
from bench2robust.core.types import Task
from bench2robust.evaluation.blocks import Blocks
from bench2robust.evaluation.cast import Cast, check_cast
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.fleet import Fleet, Lane, check_engine, open_fleet
from bench2robust.evaluation.job import Job, make_job
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.modes import Mode
from bench2robust.evaluation.player import Cell, Place, Player
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.request_log import RequestLog, request_totals
from bench2robust.evaluation.store import EPISODES, Store, read_records
from bench2robust.evaluation.suite import describe_suite, suite_notes

__all__ = ["Job", "Progress", "RunResult", "check_run", "make_job", "run"]

Progress: TypeAlias = Callable[[int], None]
"""Called with the number of cells done so far, after each."""


class RunResult(NamedTuple):
    """What a call of :func:`run` did.

    Attributes:
        total: cells of the job.
        played: of these, the ones that this call added.
        broken: of these, the ones that failed for reasons outside the agent; run again to retry.
        seconds: wall time of this call.
    """

    folder: Path
    total: int
    played: int
    broken: int
    seconds: float


def check_run(config: EvalConfig) -> None:
    """Check, before anything is written, that what models and the engine need is there.

    Raises:
        UsageError: it is not; the text says what to do.
    """
    check_cast(config)
    check_engine(config)


def run(job: Job, progress: Progress = lambda done: None) -> RunResult:
    """Run every cell of ``job`` that its folder does not hold yet.

    Can be interrupted at any instant and called again; results do not depend on it, nor on
    ``concurrency``, ``engine`` or ``workers``.

    Raises:
        UsageError: the folder holds another run, another process is writing to it, or what models
            (a key, a price) or the engine need is missing.
        RunStoppedError: an endpoint refuses all requests, or the budget is used up; what was
            played is kept.
        InfrastructureError: a worker of the engine failed for good; what was played is kept.
        DataError: a record in the folder is damaged, or of another run.
    """
    began = perf_counter()
    config, suite = job.config, job.domain.digest
    check_run(config)
    notes = suite_notes(job.domain, describe_suite(job.domain, job.tasks))
    manifest = make_manifest("eval", config.stored(), config.hash(suite), suite, notes)
    with claim_folder(job.folder, manifest), Store(job.folder) as store:
        for key, line in store.lines.items():
            if wrong := job.foreign(key):
                raise DataError(f"{job.folder / EPISODES}, line {line}: {wrong}.")
        store.note({"started": datetime.now(UTC).isoformat(timespec="seconds")})
        runner = _Runner(job, store, progress)
        gc.freeze()  # what tasks and records hold outlives the run: no collection need look at it
        try:
            runner.run()
        finally:
            gc.unfreeze()
        store.finalise()
    seconds = perf_counter() - began
    return RunResult(job.folder, job.total, runner.played, runner.broken, seconds)


class _Runner:
    def __init__(self, job: Job, store: Store, progress: Progress) -> None:
        self.played = 0
        self.broken = 0
        self._job = job
        self._store = store
        self._progress = progress
        self._done = len(store.finished)
        self._player = Player(job.config, job.domain)
        self._blocks = Blocks(job.domain, job.arms)
        if self._blocks.learning and self._done:
            for record in read_records(job.folder):
                self._blocks.note(record)

    def run(self) -> None:
        """Play every open cell."""
        config = self._job.config
        if config.engine == "ray":
            self.run_remotely()
        elif config.awaits:
            asyncio.run(self.run_with_models(config.interleaved))
        elif config.concurrency == 1:
            self.run_in_turn()
        else:
            asyncio.run(self.run_interleaved(config.concurrency))

    def run_in_turn(self) -> None:
        """Play one cell after the other."""
        for places in self._rounds():
            for cell in self._cells(places):
                started = perf_counter()
                playing = self._player.play(cell)
                try:
                    while True:
                        next(playing)
                except StopIteration as end:
                    self._keep(end.value, perf_counter() - started)

    async def run_interleaved(self, concurrency: int) -> None:
        """Play up to ``concurrency`` cells at a time, taking turns after each action."""
        for places in self._rounds():
            cells = self._cells(places)
            await self._share(self._work(cells) for _ in range(concurrency))

    async def run_with_models(self, concurrency: int) -> None:
        """Play as :meth:`run_interleaved` does, with the endpoints of the models open."""
        log = RequestLog(self._job.folder)
        try:
            before = request_totals(self._job.folder)
            async with Cast(self._job.config, log.append, before) as self._player.cast:
                await self.run_interleaved(concurrency)
        finally:
            log.close()

    def run_remotely(self) -> None:
        """Let the workers of a Ray cluster play; this process keeps what they send."""
        log = RequestLog(self._job.folder) if self._job.config.awaits else None
        try:
            with open_fleet(self._job) as fleet:
                asyncio.run(self._direct(fleet, log))
        finally:
            if log:
                log.close()

    async def _direct(self, fleet: Fleet, log: RequestLog | None) -> None:
        for places in self._rounds():
            await self._share(self._send(places, fleet.shard, lane, log) for lane in fleet.lanes)

    async def _send(
        self, places: Iterator[Place], size: int, lane: Lane, log: RequestLog | None
    ) -> None:
        while shard := list(islice(places, size)):
            report = await lane(shard)
            for record, seconds in report.played:
                self._keep(record, seconds)
            if log:
                for request in report.requests:
                    log.append(*request)
            report.check()

    async def _share(self, work: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Do ``work`` side by side, and return when all is done."""
        workers = [asyncio.create_task(part) for part in work]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, cells: Iterator[Cell]) -> None:
        for cell in cells:
            started = perf_counter()
            record = await self._player.attend(cell)
            self._keep(record, perf_counter() - started)

    def _cells(self, places: Iterator[Place]) -> Iterator[Cell]:
        return chain.from_iterable(map(self._player.cells, places))

    def _keep(self, record: EpisodeRecord, seconds: float) -> None:
        self._store.append(record, seconds)
        self._blocks.note(record)
        self.played += 1
        self.broken += record["status"] == "infra_error"
        self._progress(self._done + self.played)

    def _rounds(self) -> Iterator[Iterator[Place]]:
        """Yield what is to be played in rounds, each to be finished before the next.

        An online memory sees the episodes of earlier rounds only; without one there is one round.
        """
        job = self._job
        if not self._blocks.learning:
            yield self._open(product(job.modes, job.config.seeds, job.tasks))
            return
        for mode in job.modes:
            places = product((mode,), job.config.seeds, job.tasks)
            while part := list(islice(places, job.config.memory_round)):
                yield self._open(part)
                self._blocks.learn(mode, [(task.id, seed) for _, seed, task in part])

    def _open(self, places: Iterable[tuple[Mode, int, Task]]) -> Iterator[Place]:
        """Yield the places where something is still to be played."""
        finished = self._store.finished
        for mode, seed, task in places:
            arms = [
                (arm, self._blocks.text(arm, mode))
                for arm in self._job.arms
                if (arm.label, mode.name, task.id, seed) not in finished
            ]
            if arms:
                yield Place(mode, task, seed, arms)
