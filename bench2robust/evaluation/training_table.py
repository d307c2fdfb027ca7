"""Tables 1 and 6: memory in training by memory at inference."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bench2robust.evaluation import metrics
from bench2robust.evaluation.arms import agent_of, split_label
from bench2robust.evaluation.mode_titles import by_mode, mode_title
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.table import Table, spread
from bench2robust.memory import MemoryChoice

__all__ = ["training_table"]


def training_table(scored: Iterable[EpisodeRecord], trained: Collection[str]) -> Table:
    """Return pass rates by arm, with marks of who had a memory block when; empty if nobody had.

    Args:
        trained: the agents whose policy was trained with a memory block.
    """
    plain = [r for r in scored if "@" not in r["mode"] and r["mode"] != "s3"]
    modes = by_mode(plain)
    arms = metrics.group(plain, lambda r: split_label(r["agent"])) if trained else {}
    rows = [
        (agent, _mark(agent_of(agent) in trained), _inference(memory), *_rates(own, modes))
        for (agent, memory), own in arms.items()
    ]
    rows.sort(key=lambda row: row[1] == "✓")  # as in the paper: base policies first
    absent = sorted(set(trained) - {agent_of(agent) for agent, _ in arms})
    note = (
        "Mean ± sample standard deviation over seeds. Train: the policy was trained with a memory "
        "block. Infer: it has one now."
    )
    if absent:
        note += f" trained_with_memory also names {', '.join(absent)}, which did not play."
    title = "Pass rate (%) by memory in training and at inference (tables 1 and 6)"
    columns = ("Agent", "Train BTM", "Infer BTM", *map(mode_title, modes))
    return Table("training", title, columns, tuple(rows), note)


def _mark(had: bool) -> str:
    return "✓" if had else "✗"


def _inference(memory: MemoryChoice) -> str:
    """Return the mark, and which block it was if not the true one, fixed."""
    mark = _mark(memory.variant not in ("none", "placebo"))
    return mark if memory.label in ("none", "full") else f"{mark} {memory.label}"


def _rates(records: list[EpisodeRecord], modes: Iterable[str]) -> tuple[str, ...]:
    of_mode = by_mode(records)
    return tuple(spread(metrics.over_seeds(of_mode.get(mode, []))) for mode in modes)
