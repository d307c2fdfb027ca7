"""Whether beliefs are calibrated: Brier score, expected calibration error, reliability curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench2robust.memory.counting import Tally
from bench2robust.memory.posterior import Memory

__all__ = ["Bin", "Calibration", "Forecast", "calibrate", "recovery_forecasts", "switch_forecasts"]

_BINS = 10


class Forecast(NamedTuple):
    """A probability that was stated, and whether it came true."""

    stated: float
    came: bool


class Bin(NamedTuple):
    """Forecasts whose stated probability lies in one tenth of [0, 1].

    Attributes:
        stated: their mean stated probability.
        came: the share that came true.
    """

    low: float
    high: float
    total: int
    stated: float
    came: float


class Calibration(NamedTuple):
    """How good forecasts were; NaN without any.

    Attributes:
        brier: mean squared error of the stated probability (0 is best; 0.25 for always 0.50).
        constant: the Brier score of always stating the share that came true, ȳ(1 − ȳ).
        ece: mean absolute gap between stated and realized share over the bins, by bin size.
        curve: the bins that hold anything.
    """

    total: int
    brier: float
    constant: float
    ece: float
    curve: tuple[Bin, ...]


def recovery_forecasts(memory: Memory, tallies: Iterable[Tally]) -> list[Forecast]:
    """Return one forecast per (episode, tool, error)."""
    return [
        Forecast(memory.recovers(*cell).mean, t.success) for t in tallies for cell in t.recovery
    ]


def switch_forecasts(memory: Memory, tallies: Iterable[Tally]) -> list[Forecast]:
    """Return one forecast per (episode, source, target)."""
    return [Forecast(memory.switches(*cell).mean, t.success) for t in tallies for cell in t.switch]


def calibrate(forecasts: Sequence[Forecast]) -> Calibration:
    """Score forecasts against what came."""
    total = len(forecasts)
    if not total:
        return Calibration(0, float("nan"), float("nan"), float("nan"), ())
    share = sum(f.came for f in forecasts) / total
    brier = sum((f.stated - f.came) ** 2 for f in forecasts) / total
    curve = _curve(forecasts)
    ece = sum(b.total * abs(b.stated - b.came) for b in curve) / total
    return Calibration(total, brier, share * (1 - share), ece, curve)


def _curve(forecasts: Iterable[Forecast]) -> tuple[Bin, ...]:
    bins: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        bins.setdefault(min(int(forecast.stated * _BINS), _BINS - 1), []).append(forecast)
    return tuple(
        Bin(
            number / _BINS,
            (number + 1) / _BINS,
            len(held),
            sum(f.stated for f in held) / len(held),
            sum(f.came for f in held) / len(held),
        )
        for number, held in sorted(bins.items())
    )
