"""Invariants of single values: domains and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.gates import COINCIDENCE, Gate, admitted
from bench2robust.monitors.lexicon import is_category, is_code, is_identifier
from bench2robust.monitors.profiles import NAMED_CATEGORY
from bench2robust.monitors.shape import Facet, Node

__all__ = ["category", "positive"]

_FEW = 3
_WORDS = 4
_SHARE = 0.95
_LONG_NUMBER = re.compile(r"\d{4,}")


def category(node: Node, gate: Gate, echoed: bool) -> Iterator[Invariant]:
    """Yield the domain of a place, if its values are categories.

    Args:
        node: the place.
        gate: what is let pass.
        echoed: the place repeats an argument, so the caller chooses its values.
    """
    if echoed:
        return
    for kind, facet in node.facets.items():
        if facet.values and kind in (str, int, bool) and _is_closed(node.name, facet, gate):
            values = sorted(facet.values)
            params: dict[str, Any] = {"values": values}
            if kind is str:
                params["normalize"] = "casefold"
            yield admitted("unseen_category", node.path, facet.records, params)


def _is_closed(name: str, facet: Facet, gate: Gate) -> bool:
    values, n = facet.values or {}, facet.records
    saturated = all(entry[0] > 1 and gate.spread(entry[1]) for entry in values.values())
    return saturated and _reads_as_category(name, values) and _supported(name, len(values), n, gate)


def _supported(name: str, distinct: int, n: int, gate: Gate) -> bool:
    """Say whether so few values in so many records mean a domain.

    Under the null of an open vocabulary of twice as many values, all n records fall into the seen
    half with probability 2^-n.
    """
    if 0.5**n > COINCIDENCE:
        return False
    if is_category(name) and 1 < distinct <= n / 3 and gate.enough(NAMED_CATEGORY, n):
        return True
    return 5 * distinct <= n and gate.enough("unseen_category", n)


def _reads_as_category(name: str, values: dict[Any, Any]) -> bool:
    texts = [value for value in values if type(value) is str]
    if not texts:
        return True
    if is_identifier(name) and len(values) > _FEW:
        return False
    brief = sum(len(text.split()) <= _WORDS for text in texts)
    return brief >= _SHARE * len(texts) and not all(map(_LONG_NUMBER.fullmatch, texts))


def positive(node: Node, gate: Gate) -> Iterator[Invariant]:
    """Yield that all numbers at a place are positive.

    Under the null of either sign being as likely, n records are all positive with probability
    2^-n, so 7 records justify it.
    """
    facets = [node.facets[kind] for kind in (int, float) if kind in node.facets]
    if (
        facets
        and not is_code(node.name)
        and all(facet.low > 0 and facet.finite for facet in facets)
    ):
        n = max(facet.records for facet in facets)
        if 0.5**n <= COINCIDENCE and gate.enough("nonpositive_value", n):
            yield admitted("nonpositive_value", node.path, n)
