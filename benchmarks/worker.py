"""What the two workers share: the gold plans, the clock, and a line protocol."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

LEFT_OUT = frozenset({"get_item_details"})
"""Tools in the gold plans that the installed τ²-bench package lacks; left out on both sides."""

Action = dict[str, Any]
T = TypeVar("T")


def gold_plans(folder: Path) -> dict[str, list[Action]]:
    """Return the gold actions of every task with any in a τ²-bench folder, by task id."""
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    plans = {
        task["id"]: [
            action
            for action in task["evaluation_criteria"]["actions"] or []
            if action["name"] not in LEFT_OUT
        ]
        for task in tasks
    }
    return {key: plan for key, plan in plans.items() if plan}


def cpu(jobs: Sequence[tuple[Callable[[T], object], Iterable[T]]]) -> float:
    """Return the process CPU seconds of calling each function on each of its items.

    The collector of garbage is on, as it is for anyone who uses either package.
    """
    start = time.process_time()
    for function, items in jobs:
        for item in items:
            function(item)
    return time.process_time() - start


def resident() -> int:
    """Return the resident memory of this process in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def serve(measures: Mapping[str, Callable[[], float]]) -> None:
    """Answer each line of standard input, the name of a measure, with a sample of it."""
    for line in sys.stdin:
        gc.collect()
        print(json.dumps(measures[line.strip()]()), flush=True)
