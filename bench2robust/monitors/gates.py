"""The two gates that an invariant passes to be admitted.

*Justification*: it does not hold by coincidence (each class states its own null).
*Generalisation*: leaving out any record would not have broken it (f1 = 0, the Good-Turing estimate
of what is still unseen), leaving out any part of the tasks would not have either (inner folds),
and so many records keep it that the Clopper-Pearson bound on its breaks is low enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.profiles import Profile, risk_bound
from bench2robust.monitors.shape import BUCKETS

__all__ = ["COINCIDENCE", "Gate", "admitted"]

COINCIDENCE = 0.01
"""The largest probability of holding by coincidence (Daikon's confidence limit is 0.99)."""


class Gate:
    """What a profile lets pass.

    Args:
        profile: how much evidence each class needs.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        folds = profile.inner_folds
        self._parts = [sum(1 << b for b in range(k, BUCKETS, folds)) for k in range(folds)]

    def enough(self, code: str, n: int) -> bool:
        """Say whether ``n`` records without a break bound the risk of a class low enough.

        They never do for a class that the profile leaves out.
        """
        return code in self.profile.risk and n >= self.profile.support(code)

    def spread(self, mask: int) -> bool:
        """Say whether something was seen in more than one inner fold of the tasks.

        What was seen in one fold only would have been a false alarm there for a contract of the
        others.
        """
        return sum(1 for part in self._parts if mask & part) > 1


def admitted(code: str, path: str, n: int, params: Mapping[str, Json] | None = None) -> Invariant:
    """Return an invariant that has passed both gates."""
    return Invariant(code, path, params or {}, n, 0, round(risk_bound(n), 6))
