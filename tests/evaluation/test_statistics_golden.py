"""The published figures of the outcome-monitor paper, from the counts in its text.

Those that its text does not allow are listed in the module's docstring.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench2robust.evaluation.statistics import (
    Pair,
    clopper_pearson,
    cluster_bootstrap,
    detectable_difference,
    exact_mcnemar,
    exact_power,
    least_prevalence,
    paired_contrast,
    sign_flip,
)


@pytest.mark.parametrize(
    ("wins", "losses", "printed"),
    [
        (14, 0, ".00012"),
        (17, 2, ".00073"),
        (11, 3, ".057"),
        (9, 5, ".42"),
        (13, 1, ".0018"),
        (9, 4, ".267"),
        (10, 2, ".039"),
        (3, 1, ".625"),
        (3, 4, "1.0"),
        (3, 3, "1.0"),
        (4, 4, "1.0"),
        (5, 5, "1.0"),
        (9, 9, "1.0"),
        (5, 2, ".45"),  # always-warn 14/2 without its nine wins through a listed substitute
        (9, 2, ".065"),  # and Flash 10/2 without one
    ],
)
def test_printed_p_values_of_paired_outcomes(wins: int, losses: int, printed: str) -> None:
    digits = len(printed.split(".")[1])
    assert round(exact_mcnemar(wins, losses), digits) == float(printed)
    assert sign_flip([1] * wins + [-1] * losses) == exact_mcnemar(wins, losses)


@pytest.mark.parametrize(
    ("net", "printed", "wins", "losses"),
    [
        (12, ".0075", 15, 3),  # learned contracts, 13/80 to 25/80
        (9, ".004", 9, 0),  # τ-bench Pro, categorical
        (3, ".607", 9, 6),  # τ-bench Pro, conservation
        (4, ".344", 7, 3),  # true trigger, Flash
        (3, ".453", 5, 2),  # true trigger, Pro
        (5, ".180", 7, 2),  # matched placebo, Flash
        (8, ".039", 10, 2),  # always warn, Flash
        (12, ".004", 14, 2),  # always warn, Pro
        (2, ".774", 7, 5),  # full envelope of the stripped study, Flash
        (3, ".375", 4, 1),  # schema-only arm on clean workflows
    ],
)
def test_splits_recovered_from_net_and_printed_p(
    net: int, printed: str, wins: int, losses: int
) -> None:
    digits = len(printed.split(".")[1])
    fitting = [
        (net + lost, lost)
        for lost in range(40)
        if round(exact_mcnemar(net + lost, lost), digits) == float(printed)
    ]
    assert fitting == [(wins, losses)]


def overlaps(
    clusters: int, wins: tuple[int, int], losses: tuple[int, int]
) -> Iterator[tuple[tuple[int, int, int, int], list[int]]]:
    """Yield every way in which the discordant pairs of two contrasts share clusters.

    The key counts the clusters in which both win, the first wins and the second loses, the first
    loses and the second wins, and both lose.
    """
    for ww in range(min(wins) + 1):
        for wl in range(min(wins[0] - ww, losses[1]) + 1):
            for lw in range(min(losses[0], wins[1] - ww) + 1):
                for ll in range(min(losses[0] - lw, losses[1] - wl) + 1):
                    plus = sum(wins) - 2 * ww - wl - lw
                    minus = sum(losses) - 2 * ll - wl - lw
                    rest = clusters - ww - ll - plus - minus
                    if rest >= wl + lw:
                        sums = [2] * ww + [-2] * ll + [1] * plus + [-1] * minus + [0] * rest
                        yield (ww, wl, lw, ll), sums


@pytest.mark.parametrize(
    ("clusters", "first", "second", "p", "low", "high", "matching", "count"),
    [
        (50, (14, 0), (9, 9), 0.028, 3.0, 25.0, (2, 0, 0, 0), 4),  # τ-bench Flash
        (57, (9, 4), (10, 2), 0.028, 2.63, 20.18, (2, 0, 0, 1), 5),  # full minus stripped
        (57, (7, 5), (13, 1), 0.018, 3.51, 21.93, (4, 0, 2, 1), 8),  # full minus baseline
        (57, (3, 4), (3, 1), 1.0, -4.39, 6.14, (0, 0, 0, 0), 6),  # true trigger minus placebo
        # τ-bench Pro: of all overlaps only one has this p; its interval is ours, not printed
        (50, (9, 0), (9, 6), 0.023, 3.0, 21.0, (0, 0, 0, 0), 1),
    ],
)
def test_two_contrasts_over_shared_clusters(
    clusters: int,
    first: tuple[int, int],
    second: tuple[int, int],
    p: float,
    low: float,
    high: float,
    matching: tuple[int, int, int, int],
    count: int,
) -> None:
    found = []
    for key, sums in overlaps(clusters, (first[0], second[0]), (first[1], second[1])):
        assert len(sums) == clusters
        interval = cluster_bootstrap(sums, [2] * clusters)
        ends = tuple(round(100 * end, 2) for end in interval)
        if (round(sign_flip(sums), 3), ends) == (p, (low, high)):
            found.append(key)
    assert len(found) == count
    assert found[0] == matching


def test_full_minus_baseline_every_overlap_with_the_printed_p_has_the_printed_interval() -> None:
    fitting = [
        tuple(round(100 * end, 2) for end in cluster_bootstrap(sums, [2] * 57))
        for _, sums in overlaps(57, (7, 13), (5, 1))
        if round(sign_flip(sums), 3) == 0.018
    ]
    assert fitting == [(3.51, 21.93)] * 8


def test_clean_workflows_five_rescues_and_five_harms() -> None:
    sums = [1] * 5 + [-1] * 5 + [0] * 47
    assert sign_flip(sums) == 1.0
    interval = cluster_bootstrap(sums, [2] * 57)
    assert [round(100 * end, 2) for end in interval] == [-5.26, 5.26]


def pairs(clusters: int, each: int, first: int, wins: int, losses: int) -> list[Pair]:
    """Return pairs with these totals, spread over clusters."""
    kept = first - losses
    outcomes = [(True, False)] * losses + [(True, True)] * kept + [(False, True)] * wins
    outcomes += [(False, False)] * (clusters * each - len(outcomes))
    return [Pair(f"task {i % clusters}", a, b) for i, (a, b) in enumerate(outcomes)]


def test_primary_counts() -> None:
    contrast = paired_contrast(pairs(80, 4, first=35, wins=62, losses=7))
    assert (contrast.second, contrast.effect.pairs, contrast.effect.tasks) == (90, 320, 80)
    assert (contrast.wins, contrast.losses) == (62, 7)
    assert round(100 * contrast.effect.difference, 2) == 17.19
    assert round(100 * contrast.rescue_rate, 1) == 21.8
    assert contrast.harm_rate == 7 / 35


def test_third_family_counts() -> None:
    contrast = paired_contrast(pairs(80, 1, first=5, wins=17, losses=2))
    assert contrast.second == 20
    assert 100 * contrast.effect.difference == 18.75
    assert round(contrast.p_mcnemar, 5) == 0.00073
    assert contrast.effect.p_value == contrast.p_mcnemar


def test_conservation_flash_is_the_outlier_in_rescue_rate() -> None:
    contrast = paired_contrast(pairs(50, 1, first=35, wins=9, losses=9))
    assert (contrast.rescue_rate, contrast.effect.difference) == (9 / 15, 0.0)


def test_detectable_difference_of_one_tier() -> None:
    assert round(detectable_difference(50, 18 / 50), 3) == 0.232  # printed: about 23 points
    # The normal approximation promises 80 %; the exact test, being conservative, has a bit less.
    assert 0.74 < exact_power(50, 0.232, 18 / 50) < 0.8
    # Printed: about 18 points, for discordances that are not given.
    assert round(100 * detectable_difference(57, 13 / 57), 1) == 17.4


def test_least_prevalence_at_the_unfavourable_ends() -> None:
    assert round(least_prevalence(11.25, -5.26), 4) == 0.3186  # printed: 0.32
    assert round(least_prevalence(36 / 320, -6 / 114), 2) == 0.32
    assert least_prevalence(17.19, 0.0) == 0.0


@pytest.mark.parametrize(
    ("risk", "records"),
    [(0.05, 59), (0.10, 29), (0.15, 19), (0.20, 14), (0.25, 11), (0.35, 7)],
)
def test_records_needed_for_a_bounded_risk(risk: float, records: int) -> None:
    assert (
        clopper_pearson(0, records, 0.90).high <= risk < clopper_pearson(0, records - 1, 0.9).high
    )


def test_rule_of_three() -> None:
    assert round(clopper_pearson(0, 45, 0.90).high, 4) == 0.0644
    assert clopper_pearson(0, 45, 0.90).high == pytest.approx(1 - 0.05 ** (1 / 45))
