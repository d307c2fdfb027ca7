"""Tables on Bayesian Tool Memory: its variants (table 3), its posteriors, its calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from bench2robust.core.domain import Domain
from bench2robust.core.wording import quantity
from bench2robust.evaluation import metrics
from bench2robust.evaluation.arms import split_label
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.table import NOTHING, Table, number, spread
from bench2robust.memory import (
    VARIANTS,
    Counts,
    Memory,
    MemoryChoice,
    Variant,
    fallback_pairs,
    tally,
)
from bench2robust.memory.calibration import (
    Calibration,
    calibrate,
    recovery_forecasts,
    switch_forecasts,
)
from bench2robust.memory.posterior import Cell

__all__ = ["calibration_tables", "posterior_tables", "variants_table"]

Records: TypeAlias = list[EpisodeRecord]
_ArmMode: TypeAlias = tuple[str, MemoryChoice, str]

_ROWS: Mapping[Variant, tuple[str, str, str]] = {
    "none": ("Base (no memory)", "✗", "✗"),
    "placebo": ("Placebo (same length)", "✗", "✗"),
    "dynamic": ("Dynamic only", "✗", "✓"),
    "static": ("Static only (P = 0.50)", "✓", "✗"),
    "shuffled": ("Full, shuffled", "✓", "✓"),
    "full": ("Full, true", "✓", "✓"),
}
assert _ROWS.keys() == set(VARIANTS)


def variants_table(scored: Iterable[EpisodeRecord]) -> Table:
    """Return table 3: pass rate and tokens by variant, fixed and with online update."""
    arms = metrics.group(scored, lambda r: (*split_label(r["agent"]), r["mode"]))
    used = {agent for agent, memory, _ in arms if memory.variant != "none"}
    rows = [
        (agent, mode, *_ROWS[variant], *_scores(arms, agent, variant, mode))
        for agent, mode in dict.fromkeys((agent, mode) for agent, _, mode in arms if agent in used)
        for variant in _ROWS
        if any((a, m.variant, o) == (agent, variant, mode) for a, m, o in arms)
    ]
    columns = ("Agent", "Mode", "Variant", "Static", "Dynamic", "Pass", "Tokens", "Pass, online",
               "Tokens, online")  # fmt: skip
    note = (
        "Static: fallback map and constraints. Dynamic: posteriors. Online: updated between rounds "
        "with the outcomes of earlier rounds."
    )
    title = "Bayesian Tool Memory by component (table 3)"
    return Table("memory_variants", title, columns, tuple(rows), note)


def _scores(
    arms: Mapping[_ArmMode, Records], agent: str, variant: Variant, mode: str
) -> tuple[str, ...]:
    cells: list[str] = []
    for online in (False, True):
        own = arms.get((agent, MemoryChoice(variant, online), mode), [])
        passed = spread(metrics.over_seeds(own)) if own else NOTHING
        cells += (passed, number(metrics.mean(own, "tokens"), 0))
    return tuple(cells)


def posterior_tables(memory: Memory) -> list[Table]:
    """Return every cell with its counts, posterior mean and 95 % interval."""
    note = f"Beta(1, 1) prior; {quantity(memory.episodes, 'episode')}; equal-tailed 95 % intervals."
    return [
        _posteriors("recovery", "P(episode recovery | error)", ("Tool", "Error"), memory, note),
        _posteriors("switch", "P(switch)", ("Source", "Target"), memory, note),
    ]


def _posteriors(
    name: str, title: str, columns: tuple[str, str], memory: Memory, note: str
) -> Table:
    cells: Mapping[Cell, Counts] = getattr(memory, name)
    rows = []
    for cell, counts in sorted(cells.items()):
        low, high = counts.interval()
        figures = (number(counts.mean, 2), f"{low:.2f} to {high:.2f}")
        rows.append((*cell, *map(str, counts), *figures))
    shown = (*columns, "Succeeded", "Episodes", "P", "95 %")
    return Table(f"memory_{name}", title, shown, tuple(rows), note)


def calibration_tables(
    memory: Memory, records: Iterable[EpisodeRecord], domain: Domain
) -> list[Table]:
    """Return how well the posteriors foretell these episodes: scores, and reliability curves."""
    pairs = fallback_pairs(domain)
    tallies = [found for record in records if (found := tally(record, pairs))]
    scores = {
        "P(episode recovery | error)": calibrate(recovery_forecasts(memory, tallies)),
        "P(switch)": calibrate(switch_forecasts(memory, tallies)),
    }
    return [_scores_table(scores), _curves_table(scores)]


def _scores_table(scores: Mapping[str, Calibration]) -> Table:
    rows = tuple(
        (name, str(c.total), number(c.brier, 4), number(c.constant, 4), number(c.ece, 4))
        for name, c in scores.items()
    )
    columns = ("Belief", "Forecasts", "Brier", "Brier of the base rate", "ECE")
    note = "One forecast per (episode, cell). Always stating 0.50 has a Brier score of 0.25."
    return Table("memory_calibration", "Calibration of the posteriors", columns, rows, note)


def _curves_table(scores: Mapping[str, Calibration]) -> Table:
    rows = tuple(
        (name, f"{b.low:.1f} to {b.high:.1f}", str(b.total), number(b.stated, 2), number(b.came, 2))
        for name, c in scores.items()
        for b in c.curve
    )
    columns = ("Belief", "Bin", "Forecasts", "Mean P", "Succeeded")
    return Table("memory_reliability", "Reliability curve", columns, rows)
