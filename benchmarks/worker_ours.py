"""Samples of our retail domain. Usage: python worker_ours.py FOLDER, a τ²-bench retail folder.

Every figure is process CPU seconds of one operation, or resident bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice
from typing import TypeAlias

import gymnasium as gym
from worker import LEFT_OUT, cpu, resident, serve

from bench2robust.core.backend import CallLog, ExecutedLog, LogEntry, ToolBackend
from bench2robust.core.domain import Session
from bench2robust.core.types import Task, ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.injectors import FaultInjector, FaultPlan, load_profile

Job: TypeAlias = tuple[ToolBackend, list[ToolCall]]

EPISODES = 10_000
CALLS_PER_EPISODE = 25
RESETS = 5000
SEEDS = 10
AGENTS = ["scripted:naive", "scripted:retry", "scripted:retry_switch"]
"""Those of `make demo`; played in its modes: clean, inject, inject_alt."""
TIMED_IMPORT = """
import time
start = time.process_time()
import bench2robust
print(time.process_time() - start)
"""


class Bench:
    """The gold plans on our domain, and a method for each measure."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.domain = get_domain("retail", folder)
        self.kinds = {spec.name: spec.kind for spec in self.domain.tools()}
        self.plans = {
            task.id: [call for call in task.actions if call.name not in LEFT_OUT]
            for task in self.domain.tasks()
        }
        self.tasks = [task for task in self.domain.tasks() if self.plans[task.id]]
        self.paper = EpisodeSettings(profile=load_profile("paper"))
        for task in self.tasks:  # what is worked out once per task is not part of an operation
            self._finished(task)
            Episode(self.domain, task, 0, self.paper)

    def reset(self) -> float:
        """Start an episode under faults: session, wrappers, user."""
        start = partial(Episode, self.domain, seed=0, settings=self.paper)
        return cpu([(start, self._many())]) / len(self._many())

    def gym_reset(self) -> float:
        """Reset the Gymnasium environment, its usual wrappers included."""
        env = gym.make("Bench2Robust-Retail", split="all", data=self.folder)
        env.reset(seed=0)
        start = time.process_time()
        for _ in range(RESETS):
            env.reset()
        return (time.process_time() - start) / RESETS

    def read(self) -> float:
        """Run a gold read on a session."""
        return self._per_call([(self._session(t), self._of_kind(t, "read")) for t in self._many()])

    def write(self) -> float:
        """Run a gold write, on a session on which the calls before it have run."""
        jobs: list[Job] = []
        for task in self._many():
            plan = self.plans[task.id]
            for index, call in enumerate(plan):
                if self.kinds[call.name] == "write":
                    session = self._session(task)
                    for earlier in plan[:index]:
                        session.call(earlier)
                    jobs.append((session, [call]))
        return self._per_call(jobs)

    def call(self) -> float:
        """Run a gold call; every plan has a fresh session."""
        return self._per_call([(self._session(t), self.plans[t.id]) for t in self._many()])

    def call_stack(self) -> float:
        """Run a gold call through an episode's stack, under the paper's faults."""
        return self._per_call(self._stacked(self.paper))

    def read_stack(self) -> float:
        """Run a gold read through an episode's stack, without faults."""
        return self._per_call(self._stacked(EpisodeSettings(), "read"))

    def read_silent(self) -> float:
        """Run a gold read of an order that is corrupted in every field, every time."""
        every = {"partial": 1 / 3, "stale": 1 / 3, "factual_error": 1 / 3}
        limits = {"budget": 1000, "max_consecutive": 1000}
        profile = load_profile({"probabilities": every, **limits})
        jobs: list[Job] = []
        for seed, task in enumerate(self._many()):
            injector = FaultInjector(
                ExecutedLog(self._session(task)), FaultPlan(seed, task.id, profile)
            )
            orders = [c for c in self.plans[task.id] if c.name == "get_order_details"]
            jobs.append((CallLog(injector), orders))
        return self._per_call(jobs)

    def reward(self) -> float:
        """Judge a finished gold plan."""
        finished = [(task, *self._finished(task)) for task in self._many()]
        start = time.process_time()
        for task, session, entries in finished:
            self.domain.evaluate(task, session, entries, ())
        return (time.process_time() - start) / len(finished)

    def memory(self) -> float:
        """Keep one more live episode of 25 calls, logs included."""
        plans = [
            (task, [c for c in self.plans[task.id] if c.name != self.domain.transfer_tool])
            for task in self.tasks
        ]
        kept = []
        before = resident()
        for seed, (task, plan) in enumerate(islice(cycle([p for p in plans if p[1]]), EPISODES)):
            episode = Episode(self.domain, task, seed, self.paper)
            for call in islice(cycle(plan), CALLS_PER_EPISODE):
                episode.call(ToolCall(call.name, dict(call.arguments)))
            kept.append(episode)
        return (resident() - before) / len(kept)

    def episode(self) -> float:
        """Play a scripted episode, of the demo's agents and modes, and store its record."""
        return self._evaluation(certify=False)

    def episode_certified(self) -> float:
        """The same, each cell's certificate of solvability included."""
        return self._evaluation(certify=True)

    def import_package(self) -> float:
        """Import the package in a fresh interpreter."""
        command = [sys.executable, "-c", TIMED_IMPORT]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def _evaluation(self, certify: bool) -> float:
        with tempfile.TemporaryDirectory() as out:
            settings = {"data": self.folder, "agents": AGENTS, "seeds": SEEDS}
            config = EvalConfig.read({**settings, "certify": certify, "out": f"{out}/run"})
            start = time.process_time()
            result = run(make_job(config, self.domain))
            assert result.broken == 0, f"{result.broken} episodes broke"
            return (time.process_time() - start) / result.played

    def _many(self) -> list[Task]:
        return self.tasks * SEEDS

    def _session(self, task: Task) -> Session:
        return self.domain.session(task)

    def _of_kind(self, task: Task, kind: str | None) -> list[ToolCall]:
        plan = self.plans[task.id]
        return [call for call in plan if kind is None or self.kinds[call.name] == kind]

    def _finished(self, task: Task) -> tuple[Session, list[LogEntry]]:
        session = self._session(task)
        log = CallLog(session)
        for call in self.plans[task.id]:
            log.call(call)
        return session, log.entries

    def _stacked(self, settings: EpisodeSettings, kind: str | None = None) -> list[Job]:
        """Return the stack of a new episode (logs and injector) and the calls to make on it."""
        return [
            (Episode(self.domain, task, seed, settings).observed, self._of_kind(task, kind))
            for seed, task in enumerate(self._many())
        ]

    @staticmethod
    def _per_call(jobs: Sequence[Job]) -> float:
        return cpu([(b.call, calls) for b, calls in jobs]) / sum(len(c) for _, c in jobs)


MEASURES = (
    "reset",
    "gym_reset",
    "read",
    "write",
    "call",
    "call_stack",
    "read_stack",
    "read_silent",
    "reward",
    "memory",
    "episode",
    "episode_certified",
    "import_package",
)

if __name__ == "__main__":
    bench = Bench(sys.argv[1])
    serve({name: getattr(bench, name) for name in MEASURES})
