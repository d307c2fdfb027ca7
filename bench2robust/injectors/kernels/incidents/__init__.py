"""Incident faults: silent corruptions that really happened, as transforms of any JSON result.

Eight are written after the postmortems of Wu (arXiv 2606.14589), in the classes of its taxonomy; a
ninth is the list form of a truncation. The others are the pairs of the outcome-monitor paper's
studies on τ-bench (status out of set, broken conservation) and AppWorld (missing field, type flip).

All are pure functions of the call and its result: no draw decides what they do, leaves are looked
at depth first in the order of the document, and a transform that changes nothing is not eligible.
"""

from __future__ import annotations

from bench2robust.injectors.kernels.incidents import (
    field_shift,
    pairs,
    payload,
    reference,
    stale_state,
    truncation,
    vacuous,
)

__all__ = ["KERNELS"]

KERNELS = (
    vacuous.KERNEL,
    field_shift.KERNEL,
    stale_state.KERNEL,
    *payload.KERNELS,
    reference.KERNEL,
    *truncation.KERNELS,
    *pairs.KERNELS,
)
"""Every incident kernel: the eight of the paper with their variant, then the pairs."""
