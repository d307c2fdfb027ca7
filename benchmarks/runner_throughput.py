"""Scripted episodes a second at the size of the paper's main table: 402 tasks, 5 seeds, 3 modes.

    python benchmarks/runner_throughput.py

Everything that a run does counts, records on disk included; the plans of the tasks, worked out once
for each task, do not. Processor seconds of this one process, the best of three runs: what others do
on the machine still slows it, so measure on an idle one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.suite import describe_suite

WANTED = 3000
ROUNDS = 3
AGENTS = ["scripted:naive", "scripted:retry", "scripted:retry_switch"]


def measure(certify: bool, out: Path) -> tuple[int, float]:
    """Return how many episodes were played, and the processor seconds that they took."""
    values = {"agents": AGENTS, "seeds": 5, "tasks": "test", "certify": certify, "out": str(out)}
    job = make_job(EvalConfig.read(values), get_domain("retail"))
    describe_suite(job.domain, job.tasks)
    start = time.process_time()
    result = run(job)
    return result.played, time.process_time() - start


def best(certify: bool) -> float:
    """Return the highest rate of some rounds, in episodes a processor second."""
    rates = []
    for _ in range(ROUNDS):
        with TemporaryDirectory() as scratch:
            played, seconds = measure(certify, Path(scratch) / "run")
            rates.append(played / seconds)
    return max(rates)


def main() -> None:
    """Measure and print; exit code 1 below the wanted rate."""
    plain = best(certify=False)
    print(f"episodes with their records  {plain:,.0f} a second and core (wanted: {WANTED:,})")
    print(f"the same, certified          {best(certify=True):,.0f} a second and core")
    sys.exit(plain < WANTED)


if __name__ == "__main__":
    main()
