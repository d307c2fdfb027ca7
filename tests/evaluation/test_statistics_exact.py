"""The exact tests and intervals against enumeration, scipy, and their own laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.statistics import (
    Pair,
    cluster_bootstrap,
    cluster_effect,
    exact_mcnemar,
    exact_power,
    paired_contrast,
    sign_flip,
)

small = st.lists(st.integers(-9, 9), max_size=9)
some = st.lists(st.integers(-4, 4), min_size=1, max_size=30)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(wins: int, losses: int) -> None:
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert exact_mcnemar(wins, losses) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_large_counts() -> None:
    assert exact_mcnemar(6000, 5700) == pytest.approx(binomtest(6000, 11700).pvalue, rel=1e-9)
    assert exact_mcnemar(5000, 0) == 0.0  # 2^-4999 is below what a float holds
    with pytest.raises(UsageError, match="-1 wins"):
        exact_mcnemar(-1, 2)


def test_mcnemar_rejects_less_often_than_it_says() -> None:
    sizes = [exact_power(n, 0.0, d) for n in (1, 5, 6, 17, 50, 200) for d in (0.0, 0.1, 0.5, 1.0)]
    assert 0.03 < max(sizes) <= 0.05


@settings(deadline=None)
@given(small)
def test_sign_flip_counts_every_pattern(differences: list[int]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    extreme = sum(s >= observed for s in sums)
    assert sign_flip(differences) == float(Fraction(extreme, len(sums)))


@settings(deadline=None)
@given(some, st.integers(1, 50), st.integers(0, 20))
def test_sign_flip_knows_neither_direction_nor_unit_nor_zeros(
    differences: list[int], unit: int, zeros: int
) -> None:
    p = sign_flip(differences)
    assert sign_flip([-d for d in differences]) == p
    assert sign_flip([unit * d for d in differences] + [0] * zeros) == p
    assert sign_flip([d / 7 for d in differences]) == p  # floats that share a step
    assert 0 < p <= 1


def test_sign_flip_of_floats_without_a_step_is_sampled() -> None:
    differences = np.random.Generator(np.random.PCG64(5)).normal(0.3, 1, 12).tolist()
    signs = np.array(list(product((1.0, -1.0), repeat=12)))
    exact = np.mean(np.abs(signs @ differences) >= abs(sum(differences)) - 1e-9)
    sampled = sign_flip(differences)
    assert sampled == pytest.approx(exact, abs=0.005)
    assert sampled == sign_flip(differences) != sign_flip(differences, seed=1)
    assert sign_flip([2.0**0.5] * 60, resamples=999) == 1 / 1000


def test_sign_flip_where_counting_would_take_too_long_is_sampled() -> None:
    differences = [(-1) ** n * (1000 + n) * (1 + n % 3) for n in range(2000)]
    assert sign_flip(differences, resamples=100) == sign_flip(list(map(float, differences)), 100)


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
def test_bootstrap_tails_hold_at_most_their_share(differences: list[int]) -> None:
    n = len(differences)
    pmf = {0: Fraction(1)}
    for _ in range(n):
        step: dict[int, Fraction] = {}
        for total, chance in pmf.items():
            for d in differences:
                step[total + d] = step.get(total + d, Fraction(0)) + chance / n
        pmf = step
    low, high = (round(end * n) for end in cluster_bootstrap(differences))
    tail = Fraction(1, 40)
    assert sum(c for s, c in pmf.items() if s < low) < tail
    assert sum(c for s, c in pmf.items() if s <= low) >= tail
    assert sum(c for s, c in pmf.items() if s > high) < tail
    assert sum(c for s, c in pmf.items() if s >= high) >= tail


@settings(deadline=None)
@given(some, st.integers(1, 9), st.booleans())
def test_bootstrap_laws(differences: list[int], size: int, expand: bool) -> None:
    n = len(differences)
    low, high = cluster_bootstrap(differences, [size] * n, expand=expand)
    mirrored = cluster_bootstrap([-d for d in differences], [size] * n, expand=expand)
    assert mirrored == (-high, -low)
    assert low <= sum(differences) / n / size <= high
    for end in (low, high):  # on the lattice 1 / (clusters · size)
        assert end * n * size == pytest.approx(round(end * n * size), abs=1e-9)
    plain = cluster_bootstrap(differences, [size] * n)
    assert low <= plain.low <= plain.high <= high


def test_bootstrap_agrees_with_scipy_and_with_its_own_sampling() -> None:
    sums = [3] * 4 + [2] * 8 + [1] * 20 + [-1] * 6 + [0] * 42
    exact = cluster_bootstrap(sums, [4] * 80)
    theirs = bootstrap(
        (np.array(sums) / 4,),
        np.mean,
        n_resamples=50_000,
        batch=5_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert exact == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    irrational = [s * 2**0.5 for s in sums]
    sampled = cluster_bootstrap(irrational, [4] * 80)
    assert sampled == pytest.approx([end * 2**0.5 for end in exact], abs=1e-12)
    assert cluster_bootstrap([s / 3 for s in sums]) == pytest.approx([end * 4 / 3 for end in exact])


def test_bootstrap_of_clusters_of_several_sizes() -> None:
    sums, sizes = [3, 0, 1, 0, -1, 2, 0, 1] * 5, [5, 5, 4, 5, 3, 5, 1, 5] * 5
    interval = cluster_bootstrap(sums, sizes)
    ratio = sum(sums) / sum(sizes)
    assert interval.low < ratio < interval.high
    # Linearised standard error of a ratio, times 1.96.
    residuals = [s - ratio * n for s, n in zip(sums, sizes, strict=True)]
    error = np.std(residuals) * np.sqrt(40) / sum(sizes)
    assert interval == pytest.approx((ratio - 1.96 * error, ratio + 1.96 * error), abs=0.01)
    assert interval == cluster_bootstrap(sums, sizes) != cluster_bootstrap(sums, sizes, seed=1)
    wider = cluster_bootstrap(sums, sizes, expand=True)
    assert wider.low < interval.low < interval.high < wider.high


def test_expansion_uses_students_quantile() -> None:
    values = np.random.Generator(np.random.PCG64(2)).normal(size=10).tolist()
    # Student's 2.5 % quantile at 9 degrees of freedom is -2.2622; times sqrt(10/9) it is -2.3846,
    # below which a normal variable lies with probability 0.008550.
    tail = cluster_bootstrap(values, level=1 - 2 * 0.008550)
    assert cluster_bootstrap(values, expand=True) == pytest.approx(tail, abs=2e-4)
    assert cluster_bootstrap([1.5], expand=True) == (1.5, 1.5)


@pytest.mark.parametrize(("differences", "sizes"), [([], []), ([1, 2], [1, 0])])
def test_bootstrap_refuses_empty_clusters(differences: list[int], sizes: list[int]) -> None:
    with pytest.raises(UsageError, match="at least one"):
        cluster_bootstrap(differences, sizes)


def test_effect_where_all_tasks_agree_is_bounded_not_a_point() -> None:
    none = cluster_effect([0] * 59, [1] * 59)
    assert none.interval == pytest.approx((-0.0495, 0.0495), abs=1e-4)
    assert (none.p_value, none.spread) == (1.0, 0.0)
    every = cluster_effect([2] * 10, [2] * 10)
    assert every.interval == pytest.approx((1 - 2 * (1 - 0.05**0.1), 1.0))
    assert every.p_value == 2 / 2**10
    one = cluster_effect([1], [3])
    assert one.interval == pytest.approx((1 / 3 - 0.95 * 4 / 3, 1 / 3 + 0.95 * 2 / 3))
    gap = cluster_effect([0] * 59, [1] * 59, limit=2.0)
    assert gap.interval == pytest.approx([2 * end for end in none.interval])
    with pytest.raises(UsageError, match="no pair"):
        cluster_effect([], [])


def test_effect_has_the_expanded_interval() -> None:
    sums, sizes = [3, 2, -1, 0, 1, 4, 0, 2, -2, 1], [5] * 10
    plain, expanded = (cluster_bootstrap(sums, sizes, expand=e) for e in (False, True))
    assert cluster_effect(sums, sizes).interval == expanded != plain


def test_effect_of_one_pair_per_task_has_the_discordance_as_spread() -> None:
    effect = cluster_effect([1] * 7 + [-1] * 3 + [0] * 40, [1] * 50)
    assert effect.spread == pytest.approx(10 / 50)
    assert effect.difference == 4 / 50
    halved = cluster_effect([1] * 7 + [-1] * 3 + [0] * 40, [2] * 50)
    assert halved.spread == pytest.approx(10 / 200)
    assert halved.detectable == pytest.approx(effect.detectable / 2)


def test_contrast_by_hand() -> None:
    rows = [
        Pair("a", False, True),
        Pair("a", False, True),
        Pair("b", True, False),
        Pair("b", True, True),
        Pair("c", False, False),
        Pair("c", False, True),
    ]
    contrast = paired_contrast(rows)
    assert (contrast.first, contrast.second) == (2, 4)
    assert (contrast.wins, contrast.losses) == (3, 1)
    assert (contrast.effect.tasks, contrast.effect.pairs) == (3, 6)
    assert contrast.effect.difference == pytest.approx(2 / 6)
    assert contrast.p_mcnemar == exact_mcnemar(3, 1)
    assert contrast.effect.p_value == sign_flip([2, -1, 1])
    assert (contrast.rescue_rate, contrast.harm_rate) == (3 / 4, 1 / 2)


def test_rates_without_a_denominator_are_nan() -> None:
    perfect = paired_contrast([Pair("a", True, True)])
    hopeless = paired_contrast([Pair("a", False, False)])
    assert np.isnan(perfect.rescue_rate) and np.isnan(hopeless.harm_rate)
