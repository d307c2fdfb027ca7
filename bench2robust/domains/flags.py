"""Known oddities of tasks: the flags that a suite's tasks can carry, and what each means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bench2robust.core.types import Task
from bench2robust.core.wording import quantity

__all__ = ["flag_notes", "gold_flag"]

_WHY = {
    "gold_write_fails": "a gold write is refused, so the target state is wrong",
    "gold_read_fails": "a gold read is refused, which does not change the target state",
    "gold_fails": "the gold calls do not pass the task's own criterion",
    "nothing_passes": (
        "doing nothing succeeds, so a pass says little: the gold calls leave every record as it "
        "was, nothing must be told and no call must be made"
    ),
    "needs_judge": "the benchmark also asserts things in prose, which are not checked here",
}


def gold_flag(refused: Sequence[str | None]) -> str:
    """Return the flag for the kinds of the gold calls that are refused; empty if none is."""
    if "write" in refused:
        return "gold_write_fails"
    return "gold_read_fails" if refused else ""


def flag_notes(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return one remark for each flag that occurs: what it means, and on which tasks."""
    by_flag = defaultdict(list)
    for task in tasks:
        for flag in task.flags:
            by_flag[flag].append(task.id)
    return tuple(
        f"{flag}: {why}; {quantity(len(ids), 'task')}: {', '.join(ids)}"
        for flag, why in _WHY.items()
        if (ids := by_flag.get(flag))
    )
