"""Whether a contract still fits: counters per invariant, alarms, production against golden.

Windows of a fixed number of calls of each tool. In a window an invariant alarms if its firings
cannot come from the clean rate (the lower end of the exact interval lies above it); it drifts if it
alarms in two windows in a row. Then the two sets are compared:

* production above the clean rate, golden not: the tool's behaviour changed;
* both above: the contract is stale;
* golden only: the pipeline that runs the golden set broke;
* neither: nothing to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.contracts.firing import Firings, Found, Place, place_of
from bench2robust.evaluation.statistics import clopper_pearson, holm
from bench2robust.monitors.contract import Contract

__all__ = ["Alarms", "Comparison", "Diagnosis", "compare_sets", "watch"]

Diagnosis: TypeAlias = Literal[
    "ok", "tool behaviour changed", "contract stale", "pipeline regression", "undecided"
]
SIGNIFICANT = 0.05
SUSTAINED = 2
"""Windows in a row that must alarm."""


class Alarms(NamedTuple):
    """The windows of one invariant.

    Attributes:
        windows: complete windows of its tool.
        alarms: those in which it alarmed.
        sustained: number of the first window, from 1, that ends a sustained alarm; None if none.
        worst: most firings in one window.
    """

    place: Place
    windows: int
    alarms: int
    sustained: int | None
    worst: int


class _Windows:
    """The running counters of one tool."""

    def __init__(self) -> None:
        self.calls = 0
        self.windows = 0
        self.current: Counter[Place] = Counter()
        self.running: dict[Place, int] = {}
        self.found: dict[Place, Alarms] = {}


def watch(
    contract: Contract, found: Iterable[Found], window: int, clean_rate: float
) -> tuple[Firings, list[Alarms]]:
    """Return what fired in a stream of production calls, and the alarms of every invariant.

    Raises:
        UsageError: the window is not positive, or the rate none.
    """
    if window < 1:
        raise UsageError(f"--window {window}: give 1 or more calls.")
    if not 0 <= clean_rate < 1:
        raise UsageError(f"--clean-rate {clean_rate}: give a share of 0 or more and below 1.")
    firings, tools = Firings(), dict[str, _Windows]()
    for item in found:
        firings.add(contract, item)
        tool = item.observed.sample.tool
        if not contract.covers(tool):
            continue
        state = tools.setdefault(tool, _Windows())
        state.calls += 1
        state.current.update({place_of(contract, tool, v) for v in item.violations})
        if state.calls == window:
            _close(state, window, clean_rate)
    rows = [a._replace(windows=s.windows) for s in tools.values() for a in s.found.values()]
    return firings, sorted(rows, key=lambda row: (row.sustained is None, -row.alarms, row.place))


def _close(state: _Windows, window: int, clean_rate: float) -> None:
    """End a window: note which invariants alarm in it."""
    state.windows += 1
    running = {}
    for place, fired in state.current.items():
        row = state.found.get(place, Alarms(place, 0, 0, None, 0))
        row = row._replace(worst=max(row.worst, fired))
        if clopper_pearson(fired, window).low > clean_rate:
            running[place] = state.running.get(place, 0) + 1
            row = row._replace(alarms=row.alarms + 1)
            if running[place] == SUSTAINED and row.sustained is None:
                row = row._replace(sustained=state.windows)
        state.found[place] = row
    state.running, state.current, state.calls = running, Counter(), 0


class Comparison(NamedTuple):
    """One invariant in production and on the golden set.

    Attributes:
        production: (fired, calls).
        golden: (fired, calls).
        p: Fisher's exact test of the two shares, corrected over all invariants (Holm).
    """

    place: Place
    production: tuple[int, int]
    golden: tuple[int, int]
    p: float
    diagnosis: Diagnosis


def compare_sets(production: Firings, golden: Firings, clean_rate: float) -> list[Comparison]:
    """Return the comparison of every invariant that fired in either set, gravest first."""
    from scipy.stats import binomtest, fisher_exact  # slow to import, and not needed by most runs

    places = sorted(set(production.places) | set(golden.places))
    pairs = {p: (_counts(production, p), _counts(golden, p)) for p in places}
    differ = holm({p: float(fisher_exact(_table(*pair)).pvalue) for p, pair in pairs.items()})
    above = holm(
        {
            (p, side): float(binomtest(*counts, clean_rate, "greater").pvalue) if counts[1] else 1.0
            for p, pair in pairs.items()
            for side, counts in enumerate(pair)
        }
    )
    rows = []
    for place, (made, known) in pairs.items():
        up, golden_up = (above[place, side] < SIGNIFICANT for side in (0, 1))
        diagnosis = _diagnose(up, golden_up, differ[place] < SIGNIFICANT)
        rows.append(Comparison(place, made, known, differ[place], diagnosis))
    return sorted(rows, key=lambda row: (row.diagnosis == "ok", row.p, row.place))


def _diagnose(up: bool, golden_up: bool, differ: bool) -> Diagnosis:
    if up and golden_up:
        return "contract stale"
    if up:  # a golden set that is too small to differ from production says nothing
        return "tool behaviour changed" if differ else "undecided"
    return "pipeline regression" if golden_up else "ok"


def _counts(firings: Firings, place: Place) -> tuple[int, int]:
    return firings.places[place], firings.checked[place[0]]


def _table(
    one: tuple[int, int], two: tuple[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array([[fired, calls - fired] for fired, calls in (one, two)], dtype=np.int64)
