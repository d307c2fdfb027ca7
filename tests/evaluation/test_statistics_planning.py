"""Power, prevalence, single proportions, corrections and pass^k."""

from __future__ import annotations

from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.statistics import (
    clopper_pearson,
    detectable_difference,
    exact_mcnemar,
    exact_power,
    holm,
    least_prevalence,
    pass_hat_k,
    tasks_needed,
    wilson,
)


@settings(deadline=None)
@given(st.integers(4, 3000), st.floats(0.01, 1.0), st.floats(0.5, 0.99))
def test_detectable_difference_solves_its_equation(tasks: int, psi: float, power: float) -> None:
    from statistics import NormalDist

    delta = detectable_difference(tasks, psi, power=power)
    if delta**2 > psi:
        return  # no difference of this discordance is large enough
    z, zp = NormalDist().inv_cdf(0.975), NormalDist().inv_cdf(power)
    left = z * psi**0.5 + zp * (psi - delta**2) ** 0.5
    assert left == pytest.approx(delta * tasks**0.5, rel=1e-6)


@pytest.mark.parametrize("psi", [0.05, 0.2, 0.5])
def test_tasks_needed_is_the_inverse_of_the_detectable_difference(psi: float) -> None:
    for tasks in (20, 57, 400):
        delta = detectable_difference(tasks, psi)
        assert tasks_needed(delta * (1 - 1e-9), psi) in (tasks, tasks + 1)
        assert tasks_needed(-delta * (1 + 1e-9), psi) == tasks
    assert detectable_difference(3, psi) == inf
    assert detectable_difference(50, 0.0) == 0.0


@pytest.mark.parametrize(("difference", "psi"), [(0.1, 0.2), (0.05, 0.1), (0.2, 0.36)])
def test_planned_power_is_reached_exactly(difference: float, psi: float) -> None:
    tasks = tasks_needed(difference, psi)
    assert exact_power(tasks, difference, psi) == pytest.approx(0.8, abs=0.04)


def test_exact_power_by_enumeration() -> None:
    n, delta, psi = 12, 0.3, 0.5
    win, lose = (psi + delta) / 2, (psi - delta) / 2
    expected = 0.0
    for w in range(n + 1):
        for lost in range(n + 1 - w):
            if exact_mcnemar(w, lost) <= 0.05:
                chance = binom.pmf(w, n, win) * binom.pmf(lost, n - w, lose / (1 - win))
                expected += float(chance)
    assert exact_power(n, delta, psi) == pytest.approx(expected)
    assert exact_power(n, -delta, psi) == pytest.approx(expected)


def test_planning_refuses_what_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"difference of 0\.0"):
        tasks_needed(0.0, 0.2)
    with pytest.raises(UsageError, match="√discordance"):
        tasks_needed(0.5, 0.2)
    with pytest.raises(UsageError, match="<= discordance"):
        exact_power(20, 0.3, 0.2)
    with pytest.raises(UsageError, match=r"power 0\.3"):
        detectable_difference(20, 0.3, power=0.3)


# Rates of whole counts; far below a millionth the check's own products would vanish.
_RATES = st.integers(-(10**6), 10**6).map(lambda count: count / 10**6)


@settings(deadline=None)
@given(_RATES, _RATES)
def test_least_prevalence_is_where_the_mixture_stops_being_negative(f: float, c: float) -> None:
    least = least_prevalence(f, c)
    if least == inf:
        assert max(f, c) < 0
        return
    assert 0 <= least <= 1
    assert least * f + (1 - least) * c >= -1e-12
    if least:
        below = 0.9 * least
        assert below * f + (1 - below) * c < 0


@settings(deadline=None)
@given(st.integers(1, 200), st.data())
def test_proportion_intervals_are_scipys(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    for ours, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = binomtest(hits, trials).proportion_ci(0.9, method=method)
        assert ours(hits, trials, 0.9) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize(("hits", "trials"), [(1, 0), (-1, 5), (6, 5)])
def test_proportions_refuse_impossible_counts(hits: int, trials: int) -> None:
    for interval in (clopper_pearson, wilson):
        with pytest.raises(UsageError, match=f"{hits} hits of {trials}"):
            interval(hits, trials)


def test_holm_by_hand() -> None:
    family = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(family) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(holm(family)) == ["a", "b", "c", "d"]
    assert holm({"a": 0.7, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({"only": 0.02}) == {"only": 0.02}
    assert holm({}) == {}


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_stepwise_procedure_rejects(ps: list[float]) -> None:
    adjusted = holm(dict(enumerate(ps)))
    order = sorted(range(len(ps)), key=ps.__getitem__)
    rejected = set()
    for rank, index in enumerate(order):
        if ps[index] * (len(ps) - rank) > 0.05:
            break
        rejected.add(index)
    assert {i for i, p in adjusted.items() if p <= 0.05} == rejected


def test_pass_hat_k_is_the_share_of_subsets_that_all_pass() -> None:
    tasks = [[1, 1, 0, 1, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]]
    for k in range(1, 6):
        shares = [np.mean([all(s) for s in combinations(t, k)]) for t in tasks]
        counts = [(sum(t), len(t)) for t in tasks]
        assert pass_hat_k(counts, k) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(("counts", "k"), [([(1, 2)], 3), ([(1, 2)], 0), ([], 1)])
def test_pass_hat_k_needs_k_trials_of_each_task(counts: list[tuple[int, int]], k: int) -> None:
    with pytest.raises(UsageError, match=f"pass\\^{k}"):
        pass_hat_k(counts, k)
