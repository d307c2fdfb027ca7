"""A comparison as text for people: tables that fit 80 columns, then remarks."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from rich import box
from rich.console import Group
from rich.table import Table

from bench2robust.evaluation.compare import Comparison
from bench2robust.evaluation.statistics import Contrast, Effect

__all__ = ["render_comparison"]

PLANNED = 0.05
"""The difference for which the number of tasks needed is shown."""
METHOD = (
    "rescued, harmed: the share of A's failures that B passes, and of A's passes that B fails. "
    "McNemar takes pairs as independent, which seeds of one task are not. 95 %: bootstrap over "
    "tasks. p: exact sign-flip test over tasks; Holm: corrected for its kind of row (modes, "
    "scenarios, gaps). detectable: the smallest true difference that so many tasks show with "
    f"80 % power; for {100 * PLANNED:.0f}: how many tasks show one of {100 * PLANNED:.0f} points. "
    "from: the least share (%) of faulted episodes at which B is not worse, at the unfavourable "
    "ends of both intervals (–: none). In S3, a pass is a correct abstention."
)
_EFFECT = ("B - A", "95 %", "p", "Holm", "detectable", f"for {100 * PLANNED:.0f}")


def render_comparison(comparison: Comparison) -> Group:
    """Return the tables and remarks of a comparison, to be printed by rich without markup."""
    parts: list[Table | str] = [f"A: {comparison.first}\nB: {comparison.second}"]
    if comparison.settings:
        parts.append("Settings that differ (A, B):\n  " + "\n  ".join(comparison.settings))
    parts += ["", _passes(comparison), "", _differences(comparison)]
    if comparison.gaps:
        parts += ["", _gaps(comparison)]
    parts += ["", *_lost(comparison), "", METHOD]
    return Group(*parts)


def _rows(comparison: Comparison) -> Iterator[tuple[str, Contrast, str]]:
    for row in comparison.modes:
        yield row.mode, row.contrast, _p(row.p_holm)
    if comparison.pooled:
        yield "all modes", comparison.pooled, ""
    for row in comparison.scenarios:
        yield f"{row.mode} {row.scenario}", row.contrast, _p(row.p_holm)


def _passes(comparison: Comparison) -> Table:
    names = ("tasks", "pairs", "A", "B", "rescued", "harmed", "wins/losses", "McNemar")
    table = _table("Passes (%)", *names)
    for name, contrast, _ in _rows(comparison):
        effect = contrast.effect
        table.add_row(
            name,
            str(effect.tasks),
            str(effect.pairs),
            *(_share(passed / effect.pairs) for passed in (contrast.first, contrast.second)),
            *map(_share, (contrast.rescue_rate, contrast.harm_rate)),
            f"{contrast.wins}/{contrast.losses}",
            _p(contrast.p_mcnemar),
        )
    return table


def _differences(comparison: Comparison) -> Table:
    table = _table("Difference in points", *_EFFECT)
    for name, contrast, corrected in _rows(comparison):
        table.add_row(name, *_effect(contrast.effect, corrected))
    return table


def _gaps(comparison: Comparison) -> Table:
    table = _table(
        "Robustness gap: B - A under faults minus B - A clean, in points",
        "change",
        *_EFFECT[1:],
        "from",
    )
    for gap in comparison.gaps:
        table.add_row(gap.mode, *_effect(gap.effect, _p(gap.p_holm)), _share(gap.prevalence))
    return table


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.padding, table.pad_edge, table.show_edge = (0, 1, 0, 0), False, False
    table.add_column("mode", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    return table


def _effect(effect: Effect, corrected: str) -> Iterator[str]:
    low, high = effect.interval
    yield from (_points(effect.difference), f"[{_points(low)}, {_points(high)}]")
    yield from (_p(effect.p_value), corrected)
    # Without spread there is nothing to plan with.
    yield f"{100 * effect.detectable:.1f}" if effect.spread and isfinite(effect.detectable) else "–"
    yield f"{effect.tasks_needed(PLANNED):,}" if effect.spread >= PLANNED**2 else "–"


def _lost(comparison: Comparison) -> Iterator[str]:
    for mode, lost in comparison.lost.items():
        if pairs := lost.first + lost.second + lost.both:
            yield (
                f"{mode}: {pairs} pairs were lost by the infrastructure (A alone {lost.first}, B "
                f"alone {lost.second}, both {lost.both}) and count for neither; had all gone one "
                f"way, B - A would be {_points(lost.extremes.low)} to "
                f"{_points(lost.extremes.high)}."
            )
        if lost.unscored:
            reasons = ", ".join(f"{count} {reason}" for reason, count in lost.unscored.items())
            yield f"{mode}: pairs that are not scored: {reasons}."


def _share(share: float) -> str:
    return f"{100 * share:.1f}" if isfinite(share) else "–"


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "<.0001"
