"""Which fault a call meets: Cat(θ_j) of table 13 on keyed numbers, a pure function."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.faults import FAULT_TYPES
from bench2robust.core.keyed import uniform
from bench2robust.core.types import ResultFields
from bench2robust.injectors.schedule import Rule

__all__ = ["Distribution", "Law"]

_ORDER: dict[str, int] = {name: position for position, name in enumerate(FAULT_TYPES)}


class Distribution(NamedTuple):
    """Fault types on [0, total), clean on the rest, so most draws need one comparison.

    Attributes:
        types: fault types of positive probability, in a fixed order.
        cumulative: upper bound of each type's interval.
        total: P(not clean).
    """

    types: tuple[str, ...]
    cumulative: tuple[float, ...]
    total: float

    @classmethod
    def of(cls, probabilities: Mapping[str, float], scale: float = 1.0) -> Distribution:
        """Return the distribution with each probability times ``scale``.

        The order of the types does not depend on the order of the mapping.
        """
        types = tuple(
            sorted(
                (name for name, p in probabilities.items() if p > 0),
                key=lambda name: (_ORDER.get(name, len(_ORDER)), name),
            )
        )
        cumulative = tuple(accumulate(probabilities[name] * scale for name in types))
        return cls(types, cumulative, cumulative[-1] if cumulative else 0.0)

    def pick(self, u: float) -> str | None:
        """Return the type at ``u`` in [0, 1), or None for clean."""
        return self.types[bisect_right(self.cumulative, u)] if u < self.total else None


class Law(NamedTuple):
    """How the faults of one tool are drawn.

    Attributes:
        per_call: what is drawn for each call.
        per_key: what is drawn once per (tool, arguments) and, where it is not clean, holds for
            every such call; ``per_call`` is then conditional on its being clean.
        rules: the scheduled faults that are about the tool, each with its position in the plan.
        fields: the decision-critical fields that the plan writes down for the tool.
    """

    per_call: Distribution
    per_key: Distribution = Distribution((), (), 0.0)
    rules: tuple[tuple[int, Rule], ...] = ()
    fields: ResultFields | None = None

    def fault(
        self, seed: int, task_id: str, tool: str, nth: int, arguments: dict[str, Json]
    ) -> str | None:
        """Return the fault type that the ``nth`` call (from 0) of ``tool`` meets; None for clean.

        Limits and blocking are not considered. Calls of other tools have no influence, and
        ``arguments`` matter only where something is drawn per key.
        """
        if self.per_key.types:
            text = canonical(arguments)
            kept = self.per_key.pick(uniform("draw by key", seed, task_id, tool, text))
            if kept is not None:
                return kept
        per_call = self.per_call
        if not per_call.types:
            return None
        u = uniform("draw", seed, task_id, tool, nth)
        return per_call.pick(u) if u < per_call.total else None  # most calls end here
