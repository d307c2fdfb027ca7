"""What a loop guard found in episodes: its part of the record, and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bench2robust.evaluation import metrics
from bench2robust.evaluation.record import EpisodeRecord, LoopRow
from bench2robust.evaluation.table import Table
from bench2robust.monitors.loop_guard import Loop

__all__ = ["loop_rows", "loops_table"]


def loop_rows(loops: Sequence[Loop]) -> list[LoopRow]:
    """Return the part of a record that says which loops the agent was told of."""
    steps = {loop.step for loop in loops}
    return [
        {
            "step": loop.step,
            "tool": loop.tool,
            "kind": loop.kind,
            "size": loop.size,
            "again": loop.step + 1 in steps,
        }
        for loop in loops
    ]


def loops_table(records: Iterable[EpisodeRecord]) -> Table:
    """Return how often agents went in circles, and whether a word about it stopped them."""
    guarded = [record for record in records if "loops" in record]
    rows = []
    for (agent, mode), own in metrics.group(guarded, lambda r: (r["agent"], r["mode"])).items():
        loops = [row for record in own for row in record["loops"]]
        kinds = Counter(row["kind"] for row in loops)
        looping = sum(bool(record["loops"]) for record in own)
        again = sum(row["again"] for row in loops)
        counts = (len(own), looping, kinds["repeat"], kinds["cycle"], again)
        rows.append((agent, mode, *map(str, counts)))
    columns = ("Agent", "Mode", "Episodes", "With a loop", "Repeats", "Cycles", "Gone on")
    note = (
        "Repeats: calls made three times or more with the same arguments; cycles: rounds of calls "
        "made twice. Each was told to the agent; gone on: its next call closed a loop too."
    )
    return Table("loops", "Loops", columns, tuple(rows), note)
