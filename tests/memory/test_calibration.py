from __future__ import annotations

from math import isnan

import pytest

from bench2robust.core.keyed import uniform
from bench2robust.memory import Counts, Memory, Tally
from bench2robust.memory.calibration import (
    Forecast,
    calibrate,
    recovery_forecasts,
    switch_forecasts,
)


def test_figures_worked_out_by_hand() -> None:
    scores = calibrate(
        [Forecast(0.8, True), Forecast(0.8, False), Forecast(0.25, False), Forecast(1.0, True)]
    )
    assert scores.total == 4
    assert scores.brier == pytest.approx((0.04 + 0.64 + 0.0625 + 0) / 4)
    assert scores.constant == pytest.approx(0.25)
    assert scores.ece == pytest.approx((2 * 0.3 + 0.25 + 0) / 4)
    curve = [(b.low, b.high, b.total) for b in scores.curve]
    assert curve == [(0.2, 0.3, 1), (0.8, 0.9, 2), (0.9, 1.0, 1)]
    assert (scores.curve[1].stated, scores.curve[1].came) == pytest.approx((0.8, 0.5))


def test_true_probabilities_are_calibrated_and_shifted_ones_are_not() -> None:
    rates = [uniform("rate", n) for n in range(5000)]
    came = [uniform("came", n) < rate for n, rate in enumerate(rates)]
    true = calibrate([Forecast(*pair) for pair in zip(rates, came, strict=True)])
    shifted = calibrate([Forecast(1 - p, c) for p, c in zip(rates, came, strict=True)])
    assert true.ece < 0.03 and true.brier < true.constant
    assert shifted.ece > 0.3 and shifted.brier > true.brier


def test_nothing_to_score() -> None:
    scores = calibrate([])
    assert scores.total == 0 and isnan(scores.brier) and isnan(scores.ece) and not scores.curve


def test_one_forecast_per_episode_and_cell() -> None:
    memory = Memory("d", "s", 9, {("a", "timeout"): Counts(8, 8)}, {("a", "b"): Counts(0, 2)})
    tallies = [
        Tally(True, frozenset({("a", "timeout"), ("a", "stale")}), frozenset({("a", "b")})),
        Tally(False, frozenset({("a", "timeout")}), frozenset()),
    ]
    assert sorted(recovery_forecasts(memory, tallies)) == [(0.5, True), (0.9, False), (0.9, True)]
    assert switch_forecasts(memory, tallies) == [(0.25, True)]
