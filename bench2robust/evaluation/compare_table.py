"""A comparison as tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, nan

from bench2robust.evaluation.compare import Comparison
from bench2robust.evaluation.statistics import Contrast, Effect
from bench2robust.evaluation.table import Table, number, points, probability

__all__ = ["comparison_tables"]

PLANNED = 0.05
"""The difference for which the number of tasks needed is shown."""
_EFFECT = ("95 %", "p", "Holm", "MDE", f"for {100 * PLANNED:.0f}")
_PASSES = (
    "In %. rescued: the share of A's failures that B passes. W/L: pairs that only B passes, and "
    "that only A passes. McNemar takes pairs as independent, which seeds of one task are not: see "
    "p below. In S3, a pass is a correct abstention."
)
_DIFFERENCES = (
    "In points. 95 %: bootstrap over tasks. p: exact sign-flip test over tasks; Holm: corrected "
    "for the other modes, or the other scenarios. MDE: the smallest true difference that so "
    f"many tasks show with 80 % power; for {100 * PLANNED:.0f}: how many tasks show one of "
    f"{100 * PLANNED:.0f} points."
)
_GAPS = (
    "B - A under faults minus B - A clean, in points. from: the least share (%) of faulted "
    "episodes at which B is not worse, at the unfavourable ends of both intervals."
)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Return the tables of a comparison: arms, passes, differences, gaps and lost pairs."""
    tables = (_arms(comparison), _passes(comparison), _differences(comparison))
    others = (_gaps(comparison), _lost(comparison))
    return (*tables, *(table for table in others if table.rows))


def _arms(comparison: Comparison) -> Table:
    settings = comparison.settings
    differing = f"Settings that differ: {'; '.join(settings)}." if settings else ""
    rows = (("A", comparison.first), ("B", comparison.second))
    return Table("arms", "Paired comparison", ("", "run and agent"), rows, differing)


def _rows(comparison: Comparison) -> Iterator[tuple[str, Contrast, float]]:
    for row in comparison.modes:
        yield row.mode, row.contrast, row.p_holm
    if comparison.pooled:
        yield "all modes", comparison.pooled, nan
    for row in comparison.scenarios:
        yield f"{row.mode} {row.scenario}", row.contrast, row.p_holm


def _passes(comparison: Comparison) -> Table:
    names = ("mode", "tasks", "pairs", "A", "B", "rescued", "W/L", "McNemar")
    rows = tuple((name, *_counts(contrast)) for name, contrast, _ in _rows(comparison))
    return Table("passes", "Passes", names, rows, _PASSES)


def _counts(contrast: Contrast) -> Iterator[str]:
    pairs = contrast.effect.pairs
    yield from (str(contrast.effect.tasks), str(pairs))
    for share in (contrast.first / pairs, contrast.second / pairs, contrast.rescue_rate):
        yield number(100 * share)
    yield from (f"{contrast.wins}/{contrast.losses}", probability(contrast.p_mcnemar))


def _differences(comparison: Comparison) -> Table:
    rows = tuple((name, *_effect(c.effect, holm)) for name, c, holm in _rows(comparison))
    return Table("differences", "Difference", ("mode", "B - A", *_EFFECT), rows, _DIFFERENCES)


def _effect(effect: Effect, corrected: float) -> Iterator[str]:
    low, high = effect.interval
    yield from (points(effect.difference), f"[{points(low)}, {points(high)}]")
    yield from (probability(effect.p_value), probability(corrected))
    # Without spread there is nothing to plan with.
    known = effect.spread and isfinite(effect.detectable)
    yield number(100 * effect.detectable if known else nan)
    enough = effect.spread >= PLANNED**2
    yield f"{effect.tasks_needed(PLANNED):,}" if enough else number(nan)


def _gaps(comparison: Comparison) -> Table:
    rows = tuple(
        (
            gap.mode,
            *_effect(gap.effect, gap.p_holm),
            number(100 * gap.prevalence if isfinite(gap.prevalence) else nan),
        )
        for gap in comparison.gaps
    )
    return Table("gaps", "Robustness gap", ("mode", "change", *_EFFECT, "from"), rows, _GAPS)


def _lost(comparison: Comparison) -> Table:
    names = ("mode", "infra A", "infra B", "both", "B - A if lost pairs", "not to be scored")
    rows = tuple(
        (
            mode,
            *map(str, (lost.first, lost.second, lost.both)),
            " to ".join(map(points, lost.extremes)),
            ", ".join(f"{count} {reason}" for reason, count in lost.unscored.items()) or "0",
        )
        for mode, lost in comparison.lost.items()
        if lost.first or lost.second or lost.both or lost.unscored
    )
    note = (
        "Pairs that count for neither arm. B - A if lost pairs: in points, had every pair that the "
        "infrastructure lost gone against B, and had every one gone for it."
    )
    return Table("lost", "Pairs set aside", names, rows, note)
