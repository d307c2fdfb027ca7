"""Running an evaluation: every cell once, in a fixed order, into a store that can be resumed."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeAlias

from bench2robust.agents import Brief, make_agent
from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError, shown
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.modes import Mode, expand_modes
from bench2robust.evaluation.play import act
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, Status
from bench2robust.evaluation.store import EPISODES, Store
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

    @property
    def total(self) -> int:
        """How many cells there are."""
        config = self.config
        return len(config.agents) * len(self.modes) * len(config.seeds) * len(self.tasks)

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
            "agent": set(self.config.agents),
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
    """Select tasks and modes.

    Raises:
        UsageError: a task, or a tool that the fault profile names, does not exist.
    """
    modes = expand_modes(config)
    tools = [spec.name for spec in domain.tools(alternatives=True)]
    for mode in modes:
        mode.settings.profile.check_tools(tools)
    spec = full_spec(config.tasks or "", builtin=config.data is None)
    return Job(config, domain, select_tasks(domain, spec), modes)


def run(job: Job, progress: Progress = lambda done: None) -> RunResult:
    """Run every cell of ``job`` that its folder does not hold yet.

    Can be interrupted at any instant and called again; results do not depend on it, nor on
    ``concurrency``.

    Raises:
        UsageError: the folder holds another run, or another process is writing to it.
        DataError: a record in the folder is damaged, or of another run.
    """
    began = perf_counter()
    config, suite = job.config, job.domain.digest
    notes = suite_notes(job.domain, describe_suite(job.domain, job.tasks))
    manifest = make_manifest("eval", config.pinned(), config.hash(suite), suite, notes)
    with claim_folder(job.folder, manifest), Store(job.folder) as store:
        for key, line in store.lines.items():
            if wrong := job.foreign(key):
                raise DataError(f"{job.folder / EPISODES}, line {line}: {wrong}.")
        store.note({"started": datetime.now(UTC).isoformat(timespec="seconds")})
        runner = _Runner(job, store, progress)
        if config.concurrency == 1:
            runner.run_in_turn()
        else:
            asyncio.run(runner.run_interleaved(config.concurrency))
        store.finalise()
    seconds = perf_counter() - began
    return RunResult(job.folder, job.total, runner.played, runner.broken, seconds)


class _Cell(NamedTuple):
    agent: str
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

    def run_in_turn(self) -> None:
        """Play one cell after the other."""
        for cell in self._open_cells():
            started = perf_counter()
            playing = self._play(cell)
            try:
                while True:
                    next(playing)
            except StopIteration as end:
                self._keep(end.value, perf_counter() - started)

    async def run_interleaved(self, concurrency: int) -> None:
        """Play up to ``concurrency`` cells at a time, taking turns after each action."""
        cells = self._open_cells()
        await asyncio.gather(*(self._work(cells) for _ in range(concurrency)))

    async def _work(self, cells: Iterator[_Cell]) -> None:
        for cell in cells:
            started = perf_counter()
            playing = self._play(cell)
            try:
                while True:
                    next(playing)
                    await asyncio.sleep(0)
            except StopIteration as end:
                self._keep(end.value, perf_counter() - started)

    def _open_cells(self) -> Iterator[_Cell]:
        """Yield what is still to be played; the agents of one cell share its certificate."""
        job, finished = self._job, self._store.finished
        for mode, seed, task in product(job.modes, job.config.seeds, job.tasks):
            agents = [a for a in job.config.agents if (a, mode.name, task.id, seed) not in finished]
            if agents:
                scenario = mode.scenario(task.id, seed)
                status, reason = self._verdict(mode, task, seed, scenario)
                for agent in agents:
                    yield _Cell(agent, mode, task, seed, scenario, status, reason)

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
                settings = cell.mode.around(cell.scenario)
                episode = Episode(domain, cell.task, cell.seed, settings)
                brief = Brief(
                    domain, cell.task, episode.opening, settings.alternatives, settings.max_steps
                )
                yield from act(make_agent(cell.agent, brief).run(), episode)
                return self._builder.build(episode, cell.agent, cell.mode.name)
            except Exception as error:
                status, reason = "infra_error", _describe(error)
        return self._builder.unplayed(
            cell.agent, cell.mode.name, cell.task, cell.seed, cell.scenario, status, reason
        )

    def _keep(self, record: EpisodeRecord, seconds: float) -> None:
        self._store.append(record, seconds)
        self.played += 1
        self.broken += record["status"] == "infra_error"
        self._progress(self._done + self.played)


def _describe(error: Exception) -> str:
    """Return the error and where it was raised, as one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
