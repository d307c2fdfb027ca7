"""Running an evaluation: every cell once, in a fixed order, into a store that can be resumed."""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeAlias

from bench2robust.agents import Brief, make_agent
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError, shown
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.arms import Arm, make_arms
from bench2robust.evaluation.blocks import Blocks
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.cast import Cast, check_cast, note_models
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.modes import Mode, expand_modes
from bench2robust.evaluation.play import act, converse
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, Status
from bench2robust.evaluation.request_log import RequestLog, request_totals
from bench2robust.evaluation.store import EPISODES, Store, read_records
from bench2robust.evaluation.suite import describe_suite, full_spec, select_tasks, suite_notes

__all__ = ["Job", "Progress", "RunResult", "make_job", "run"]

_STATUS_OF: Mapping[str, Status] = {
    "certified": "ok",
    "not_applicable": "not_applicable",
    "excluded": "uncertified",
}

Progress: TypeAlias = Callable[[int], None]
"""Called with the number of cells done so far, after each."""


@dataclass(frozen=True)
class Job:
    """A configuration with its domain, tasks and modes: everything that a run needs."""

    config: EvalConfig
    domain: Domain
    tasks: tuple[Task, ...]
    modes: tuple[Mode, ...]
    arms: tuple[Arm, ...]

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.arms) * len(self.modes) * len(self.config.seeds) * len(self.tasks)

    @property
    def folder(self) -> Path:
        """Where the run goes."""
        name = f"{self.config.domain}-{self.config.hash(self.domain.digest)}"
        return Path(self.config.out) if self.config.out else Path("runs") / name

    def foreign(self, key: RecordKey) -> str:
        """Say which part of a record's key is none of this job's; empty if all are."""
        parts = zip(key, self._own.items(), strict=True)
        wrong = [f"{name} {shown(part)}" for part, (name, own) in parts if part not in own]
        return f"{', '.join(wrong)} is none of this run" if wrong else ""

    @cached_property
    def _own(self) -> Mapping[str, Set[object]]:
        return {
            "agent": {arm.label for arm in self.arms},
            "mode": {mode.name for mode in self.modes},
            "task": {task.id for task in self.tasks},
            "seed": set(self.config.seeds),
        }


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


def make_job(config: EvalConfig, domain: Domain) -> Job:
    """Select tasks, modes and arms.

    Raises:
        UsageError: a task, a tool that the fault profile names, a memory or a checkpoint does not
            exist.
    """
    config = config.identified()
    modes = expand_modes(config)
    tools = [spec.name for spec in domain.tools(alternatives=True)]
    for mode in modes:
        mode.settings.profile.check_tools(tools)
    spec = full_spec(config.tasks or "", builtin=config.data is None)
    return Job(config, domain, select_tasks(domain, spec), modes, make_arms(config, domain))


def run(job: Job, progress: Progress = lambda done: None) -> RunResult:
    """Run every cell of ``job`` that its folder does not hold yet.

    Can be interrupted at any instant and called again; results do not depend on it, nor on
    ``concurrency``.

    Raises:
        UsageError: the folder holds another run, another process is writing to it, or what models
            need (a key, a price) is missing.
        RunStoppedError: an endpoint refuses all requests, or the budget is used up; what was
            played is kept.
        DataError: a record in the folder is damaged, or of another run.
    """
    began = perf_counter()
    config, suite = job.config, job.domain.digest
    check_cast(config)
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


class _Cell(NamedTuple):
    arm: Arm
    mode: Mode
    task: Task
    seed: int
    scenario: Scenario | None
    status: Status
    reason: str


class _Runner:
    def __init__(self, job: Job, store: Store, progress: Progress) -> None:
        self.played = 0
        self.broken = 0
        self._job = job
        self._store = store
        self._progress = progress
        self._done = len(store.finished)
        self._builder = RecordBuilder(job.domain, job.config.transcripts)
        self._cast: Cast
        self._blocks = Blocks(job.domain, job.arms)
        if self._blocks.learning and self._done:
            for record in read_records(job.folder):
                self._blocks.note(record)

    def run(self) -> None:
        """Play every open cell."""
        config = self._job.config
        if config.awaits:
            asyncio.run(self.run_with_models(config.interleaved))
        elif config.concurrency == 1:
            self.run_in_turn()
        else:
            asyncio.run(self.run_interleaved(config.concurrency))

    def run_in_turn(self) -> None:
        """Play one cell after the other."""
        for cells in self._rounds():
            for cell in cells:
                started = perf_counter()
                playing = self._play(cell)
                try:
                    while True:
                        next(playing)
                except StopIteration as end:
                    self._keep(end.value, perf_counter() - started)

    async def run_interleaved(self, concurrency: int) -> None:
        """Play up to ``concurrency`` cells at a time, taking turns after each action."""
        for cells in self._rounds():
            await self._share(cells, concurrency)

    async def run_with_models(self, concurrency: int) -> None:
        """Play as :meth:`run_interleaved` does, with the endpoints of the models open."""
        log = RequestLog(self._job.folder)
        try:
            before = request_totals(self._job.folder)
            async with Cast(self._job.config, log, before) as self._cast:
                await self.run_interleaved(concurrency)
        finally:
            log.close()

    async def _share(self, cells: Iterator[_Cell], concurrency: int) -> None:
        """Play ``cells``, and return when the last is over."""
        workers = [asyncio.create_task(self._work(cells)) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, cells: Iterator[_Cell]) -> None:
        for cell in cells:
            started = perf_counter()
            if cell.arm.awaits and cell.status == "ok":
                record = await self._converse(cell)
            else:
                record = await self._take_turns(self._play(cell))
            self._keep(record, perf_counter() - started)

    async def _take_turns(self, playing: Generator[None, None, EpisodeRecord]) -> EpisodeRecord:
        while True:
            try:
                next(playing)
            except StopIteration as end:
                record: EpisodeRecord = end.value
                return record
            await asyncio.sleep(0)

    def _rounds(self) -> Iterator[Iterator[_Cell]]:
        """Yield the cells in rounds, each to be finished before the next.

        An online memory sees the episodes of earlier rounds only; without one there is one round.
        """
        job = self._job
        if not self._blocks.learning:
            yield self._open_cells(product(job.modes, job.config.seeds, job.tasks))
            return
        for mode in job.modes:
            places = product((mode,), job.config.seeds, job.tasks)
            while part := list(islice(places, job.config.memory_round)):
                yield self._open_cells(part)
                self._blocks.learn(mode, [(task.id, seed) for _, seed, task in part])

    def _open_cells(self, places: Iterable[tuple[Mode, int, Task]]) -> Iterator[_Cell]:
        """Yield what is still to be played; the arms of one cell share its certificate."""
        finished = self._store.finished
        for mode, seed, task in places:
            arms = [
                a for a in self._job.arms if (a.label, mode.name, task.id, seed) not in finished
            ]
            if arms:
                scenario = mode.scenario(task.id, seed)
                status, reason = self._verdict(mode, task, seed, scenario)
                for arm in arms:
                    yield _Cell(arm, mode, task, seed, scenario, status, reason)

    def _verdict(
        self, mode: Mode, task: Task, seed: int, scenario: Scenario | None
    ) -> tuple[Status, str]:
        """Say whether a cell may be scored, and why not."""
        domain = self._job.domain
        try:
            if scenario is None:
                return "ok", ""
            if not self._job.config.certify:
                reason = analyse(domain, task).reason(scenario)
                return "not_applicable" if reason else "ok", reason
            proof = certify(domain, task, scenario, seed, mode.settings)
        except Exception as error:
            return "infra_error", _describe(error)
        # Without the name of its task, so that equal reasons are counted together.
        reason = proof.reason.removeprefix(f"task {task.id!r} has no {scenario}: ")
        return _STATUS_OF[proof.status], reason

    def _play(self, cell: _Cell) -> Generator[None, None, EpisodeRecord]:
        """Play one cell, pausing after each action; whatever breaks outside the agent is noted."""
        domain = self._job.domain
        status, reason = cell.status, cell.reason
        if status == "ok":
            try:
                episode = Episode(domain, cell.task, cell.seed, cell.mode.around(cell.scenario))
                agent = make_agent(cell.arm.agent, self._brief(cell, episode))
                yield from act(agent.run(), episode)
                return self._builder.build(episode, cell.arm.label, cell.mode.name)
            except Exception as error:
                status, reason = "infra_error", _describe(error)
        return self._unplayed(cell, status, reason)

    async def _converse(self, cell: _Cell) -> EpisodeRecord:
        """Play one cell in which models take part, as :meth:`_play`."""
        arm, task, mode = cell.arm, cell.task, cell.mode
        place = (arm, mode.name, cell.seed)
        try:
            user = self._cast.user(task, *place)
            opening = None if user is None else await user.simulator.open()
            episode = Episode(
                self._job.domain, task, cell.seed, mode.around(cell.scenario), opening=opening
            )
            brief = self._brief(cell, episode)
            agent = self._cast.agent(brief, *place)
            acting = make_agent(arm.agent, brief) if agent is None else agent.policy
            await converse(acting.run(), episode, user and user.simulator)
            record = self._builder.build(episode, arm.label, mode.name)
            note_models(record, episode, agent, user)
            return record
        except RunStoppedError:
            raise
        except Exception as error:
            return self._unplayed(cell, "infra_error", _describe(error))

    def _brief(self, cell: _Cell, episode: Episode) -> Brief:
        settings = episode.settings
        return Brief(
            episode.domain,
            cell.task,
            episode.opening,
            settings.alternatives,
            settings.max_steps,
            self._blocks.text(cell.arm, cell.mode),
        )

    def _unplayed(self, cell: _Cell, status: Status, reason: str) -> EpisodeRecord:
        return self._builder.unplayed(
            cell.arm.label, cell.mode.name, cell.task, cell.seed, cell.scenario, status, reason
        )

    def _keep(self, record: EpisodeRecord, seconds: float) -> None:
        self._store.append(record, seconds)
        self._blocks.note(record)
        self.played += 1
        self.broken += record["status"] == "infra_error"
        self._progress(self._done + self.played)


def _describe(error: Exception) -> str:
    """Return the error and where it was raised, as one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
