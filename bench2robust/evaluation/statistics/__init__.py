"""Statistics of paired comparisons: exact where counting allows it, seeded sampling elsewhere.

Tasks are the clusters: seeds, modes and tiers of one task are never taken as independent. No
function here knows of records or files; :mod:`bench2robust.evaluation.compare` applies them.

The tests reproduce the published figures of the outcome-monitor paper from their counts. These
figures of that paper are not reproduced, because its text does not hold what they need:

* the primary p < .00001 with [11.25, 23.44], the reasoning ablation [10.00, 25.62], and the
  reviewer study (p = .0011, .0144, .349): per-task differences are not given. Only their place on
  the lattice 1 / (clusters · arms) is checked;
* "+6.3 points or less" for rows where faults do not block: the given counts reach +6.0 at most,
  or +10.5 if the development row is counted;
* "about 18 points" as the detectable difference of the two null contrasts: their discordances are
  not given (13 discordant of 57 would give 17.4);
* "0.80 % of 53,078 responses": the rate is over held-out responses of five seeds, 6,860 each;
* stripped minus baseline [-6.14, 7.89]: wins and losses per tier are not given.
"""

from __future__ import annotations

from bench2robust.evaluation.statistics.bootstrap import Interval, cluster_bootstrap
from bench2robust.evaluation.statistics.contrast import (
    Contrast,
    Effect,
    Pair,
    cluster_effect,
    paired_contrast,
)
from bench2robust.evaluation.statistics.holm import holm
from bench2robust.evaluation.statistics.mcnemar import exact_mcnemar
from bench2robust.evaluation.statistics.passk import pass_hat_k
from bench2robust.evaluation.statistics.power import (
    detectable_difference,
    exact_power,
    tasks_needed,
)
from bench2robust.evaluation.statistics.prevalence import least_prevalence
from bench2robust.evaluation.statistics.proportions import clopper_pearson, wilson
from bench2robust.evaluation.statistics.signflip import sign_flip

__all__ = [
    "Contrast",
    "Effect",
    "Interval",
    "Pair",
    "clopper_pearson",
    "cluster_bootstrap",
    "cluster_effect",
    "detectable_difference",
    "exact_mcnemar",
    "exact_power",
    "holm",
    "least_prevalence",
    "paired_contrast",
    "pass_hat_k",
    "sign_flip",
    "tasks_needed",
    "wilson",
]
