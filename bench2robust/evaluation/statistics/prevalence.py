"""From a study on a fault-enriched sample to traffic in which faults are rare."""

from __future__ import annotations

from math import inf

__all__ = ["least_prevalence"]


def least_prevalence(faulted: float, clean: float) -> float:
    """Return the least share π of faulted traffic at which the net effect is not negative.

    The mixture π·faulted + (1 - π)·clean is at least 0 from π = -clean / (faulted - clean) on.
    Put the unfavourable ends of two intervals in, and the answer is a bound.

    Args:
        faulted: the effect where faults are injected.
        clean: the effect where there are none.

    Returns:
        0 if the effect on clean traffic is not negative; infinity if it is and the effect on
        faulted traffic is negative too.
    """
    if clean >= 0:
        return 0.0
    return -clean / (faulted - clean) if faulted >= 0 else inf
