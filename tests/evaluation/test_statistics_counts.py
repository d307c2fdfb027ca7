"""The counts, shares and interval ends that the outcome-monitor paper prints, recomputed.

With ``test_statistics_golden.py`` these are all of its statistics that its text allows to
recompute; the docstring of the statistics lists the others.
"""

from __future__ import annotations

import pytest

from bench2robust.evaluation.metrics import Rate
from bench2robust.evaluation.receipt_tables import share
from bench2robust.evaluation.statistics import Pair, clopper_pearson, paired_contrast
from bench2robust.evaluation.table import percent


@pytest.mark.parametrize(
    ("hits", "total", "printed"),
    [
        (35, 320, "10.9"),  # faulted baseline of the confirmation
        (90, 320, "28.1"),  # and with receipts
        (443, 484, "91.5"),  # receipts with at least two admissible actions
        (102, 111, "91.9"),  # the learned arm of the schema ablation
        (20, 166, "12.0"),  # and its schema-only arm
        (235, 484, "48.6"),  # after a receipt: a listed substitute
        (162, 484, "33.5"),  # another tool
        (68, 484, "14.0"),  # a retry
        (19, 484, "3.9"),  # no further call
        (35, 76, "46.1"),  # incident faults detected, Flash
        (34, 75, "45.3"),  # Pro
        (6, 50, "12.0"),  # τ-bench categorical baseline
        (35, 50, "70.0"),  # and conservation
        (25, 32, "78.1"),  # held-out AppWorld
        (54, 80, "67.5"),  # incident suite, Flash
        (52, 80, "65.0"),  # Pro
        (364, 590, "61.7"),  # firings on public traffic: unexpected fields
        (78, 590, "13.2"),  # missing ones
        (69, 590, "11.7"),  # explicit errors
        (53, 590, "9.0"),  # types
        (12, 590, "2.0"),  # categories
        (6, 590, "1.0"),  # echoes, and not positive
        (2, 590, "0.3"),  # relations
    ],
)
def test_printed_shares(hits: int, total: int, printed: str) -> None:
    assert percent(Rate(hits, total)) == printed


def test_parts_add_up() -> None:
    assert 235 + 162 + 68 + 19 == 484
    assert sum((364, 78, 69, 53, 12, 6, 6, 2)) == 590
    flash = {"vacuous": (10, 10), "shift": (8, 10), "stale": (7, 10), "stripped": (3, 9),
             "page": (3, 10), "pollution": (3, 10), "reference": (1, 9), "cut": (0, 8)}  # fmt: skip
    pro = {**flash, "vacuous": (8, 8), "stripped": (4, 10)}
    assert tuple(map(sum, zip(*flash.values(), strict=True))) == (35, 76)
    assert tuple(map(sum, zip(*pro.values(), strict=True))) == (34, 75)
    expressible = [flash[name] for name in ("vacuous", "shift", "stale")]
    assert tuple(map(sum, zip(*expressible, strict=True))) == (25, 30)
    inside_text = [flash[name] for name in ("stripped", "page", "cut")]  # or pollution for page
    assert tuple(map(sum, zip(*inside_text, strict=True))) == (6, 27)
    # Never called, and ineligible when called, in both arms.
    assert (160 - (3 + 3 + 1 + 1), 160 - (5 + 4 + 1 + 1)) == (152, 149)


@pytest.mark.parametrize(("flagged", "printed"), [(41, "0.60"), (65, "0.95")])
def test_firing_rates_on_public_traffic(flagged: int, printed: str) -> None:
    assert share(flagged, 6860).startswith(printed)
    low, high = clopper_pearson(flagged, 6860)
    assert low < flagged / 6860 < high


@pytest.mark.parametrize(
    ("end", "clusters", "arms"),
    [
        *((end, 80, 4) for end in (11.25, 23.44)),  # confirmation
        *((end, 80, 2) for end in (10.00, 25.62)),  # reasoning ablation
        *((end, 80, 2) for end in (6.875, 23.75, 3.125, 19.375, -2.5, 10.0)),  # reviewer
        *((end, 50, 2) for end in (3.0, 25.0)),  # τ-bench
        *((end, 57, 2) for end in (-5.26, 5.26, -4.39, 6.14, -6.14, 7.89)),  # clean, placebo
        *((end, 57, 2) for end in (2.63, 20.18, 3.51, 21.93)),  # stripped envelope
    ],
)
def test_printed_interval_ends_are_means_of_whole_pairs(
    end: float, clusters: int, arms: int
) -> None:
    step = 100 / (clusters * arms)
    assert abs(end - round(end / step) * step) <= 0.0051
    assert step > 0.3  # so that the check can fail


@pytest.mark.parametrize(
    ("first", "wins", "losses", "pairs", "printed"),
    [
        (35, 62, 7, 320, 17.19),  # confirmation
        (41, 23, 9, 100, 14.0),  # τ-bench Flash, both faults
        (6, 14, 0, 50, 28.0),  # its categorical one
        (35, 9, 9, 50, 0.0),  # and conservation
        (13, 15, 3, 80, 15.0),  # learned arm of the ablation
        (13, 11, 3, 80, 10.0),  # schema-only arm
        (12, 7, 3, 57, 7.0),  # true trigger, Flash
        (14, 5, 2, 57, 5.3),  # Pro
        (12, 7, 2, 57, 8.8),  # matched placebo, Flash
        (12, 10, 2, 57, 14.0),  # always warn, Flash
        (14, 14, 2, 57, 21.1),  # Pro
    ],
)
def test_printed_differences(
    first: int, wins: int, losses: int, pairs: int, printed: float
) -> None:
    outcomes = [(True, False)] * losses + [(True, True)] * (first - losses)
    outcomes += [(False, True)] * wins
    outcomes += [(False, False)] * (pairs - len(outcomes))
    contrast = paired_contrast(Pair(str(i), a, b) for i, (a, b) in enumerate(outcomes))
    digits = len(str(printed).split(".")[1])
    assert round(100 * contrast.effect.difference, digits) == printed
