"""All invariants of one tool."""

from __future__ import annotations

from collections.abc import Iterator

from bench2robust.monitors.admission.affine import affine_invariants
from bench2robust.monitors.admission.echo import echo_invariants
from bench2robust.monitors.admission.shapes import closed_keys, required_fields, types
from bench2robust.monitors.admission.values import category, positive
from bench2robust.monitors.contract import Invariant, in_order
from bench2robust.monitors.gates import Gate, admitted
from bench2robust.monitors.profiles import Profile
from bench2robust.monitors.shape import Node, places
from bench2robust.monitors.tool_state import ToolState

__all__ = ["invariants"]


def invariants(state: ToolState, profile: Profile) -> tuple[Invariant, ...]:
    """Return what is admitted of a tool, in the order of codes, then of paths."""
    if not state.records:
        return ()
    gate = Gate(profile)
    found = [*_lexical(state), *echo_invariants(state.echoes, gate)]
    echoed = {invariant.path for invariant in found if invariant.path}
    for node in places(state.tree.root):
        found += _of_place(node, gate, node.path in echoed)
    found += affine_invariants(state.relations, gate)
    for findings in state.further.values():
        found += findings.invariants(gate)
    return in_order(found)


def _of_place(node: Node, gate: Gate, echoed: bool) -> Iterator[Invariant]:
    yield from required_fields(node, gate)
    yield from closed_keys(node, gate)
    yield from types(node, gate)
    yield from category(node, gate, echoed)
    yield from positive(node, gate)


def _lexical(state: ToolState) -> Iterator[Invariant]:
    """Yield that no field tells of an error, but for those that did so on clean records."""
    if state.alarms is not None:
        params = {"nominal": sorted(state.alarms)}
        yield admitted("explicit_error", "", state.records, params)
