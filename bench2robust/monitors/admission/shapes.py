"""Invariants of shape: required fields, closed key sets, types."""

from __future__ import annotations

from collections.abc import Iterator

from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.gates import Gate, admitted
from bench2robust.monitors.pointers import escape
from bench2robust.monitors.shape import KINDS, Facet, Node

__all__ = ["closed_keys", "required_fields", "types"]

_ALWAYS_WHOLE = 59
"""Records after which "only whole numbers so far" says that no fraction will come (1 - 0.05^(1/59)
is 5 %); before that it is the commonest accident of small samples."""


def required_fields(node: Node, gate: Gate) -> Iterator[Invariant]:
    """Yield the fields that every object at a place had."""
    facet = node.facets.get(dict)
    if facet is not None and gate.enough("missing_learned_field", facet.records):
        for key in _constant_keys(facet):
            path = f"{node.path}/{escape(key)}"
            yield admitted("missing_learned_field", path, facet.records)


def closed_keys(node: Node, gate: Gate) -> Iterator[Invariant]:
    """Yield the key set of a place, if it is closed: saturated, and no map."""
    facet = node.facets.get(dict)
    if facet is None or not facet.children or facet.pooled is not None:
        return
    seen = facet.children.values()
    saturated = all(child.records > 1 and gate.spread(_mask(child)) for child in seen)
    if saturated and _constant_keys(facet) and gate.enough("unexpected_field", facet.records):
        keys = sorted(facet.children)
        yield admitted("unexpected_field", node.path, facet.records, {"keys": keys})


def types(node: Node, gate: Gate) -> Iterator[Invariant]:
    """Yield the types of a place, if each was seen often enough.

    What was always null has shown no type yet.
    """
    n = node.records
    facets = node.facets
    if not facets.keys() - {type(None)}:
        return
    saturated = all(f.records > 1 and gate.spread(f.mask) and f.finite for f in facets.values())
    if saturated and gate.enough("learned_type_mismatch", n):
        names = {KINDS[kind] for kind in facets}
        if "integer" in names and ("number" in names or n < _ALWAYS_WHOLE):
            names = (names - {"integer"}) | {"number"}
        yield admitted("learned_type_mismatch", node.path, n, {"types": sorted(names)})


def _constant_keys(facet: Facet) -> list[str]:
    children = facet.children or {}
    return sorted(k for k, child in children.items() if child.instances == facet.instances)


def _mask(node: Node) -> int:
    mask = 0
    for facet in node.facets.values():
        mask |= facet.mask
    return mask
