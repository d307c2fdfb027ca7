"""Which decision-critical fields of a result a task needs."""

from __future__ import annotations

from functools import lru_cache

from bench2robust.core.paths import Path, Pattern, matches
from bench2robust.core.types import ResultFields

__all__ = ["qualifying"]


@lru_cache(maxsize=4096)
def qualifying(fields: ResultFields, needed: tuple[Path, ...] | None) -> ResultFields:
    """Return the fields that the task needs, outer contents before inner ones.

    The choice is by pattern, not by single place: where the price of one variant is needed, the
    prices of all variants are corrupted. Otherwise two fetches that differ in one place would
    tell the agent which one the task is about.

    Args:
        fields: the decision-critical fields of a tool's result.
        needed: concrete result paths that the task reads; None makes every field qualify.
    """
    if needed is None:
        contents, states, amounts = fields.contents, fields.states, fields.amounts
    else:
        contents = tuple(p for p in fields.contents if any(matches(p, path) for path in needed))
        states = tuple(s for s in fields.states if _reads(s[0], needed))
        amounts = tuple(p for p in fields.amounts if _reads(p, needed))
    return ResultFields(tuple(sorted(contents, key=len)), states, amounts)


def _reads(pattern: Pattern, needed: tuple[Path, ...]) -> bool:
    return any(len(pattern) == len(path) and matches(pattern, path) for path in needed)
