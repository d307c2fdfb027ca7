"""Fault profiles and kernels in words, for tables and the command line."""

from __future__ import annotations

from typing import NamedTuple

from bench2robust.core.faults import FAULT_TYPES
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors.kernels import Context, get_kernel
from bench2robust.injectors.profile import Commit, FaultProfile

__all__ = ["ProfileRow", "describe", "example"]


class ProfileRow(NamedTuple):
    """One fault type of a profile.

    Attributes:
        probability: P(ν) for a tool without θ_j of its own.
        commit: what becomes of a write that the fault hits.
        summary: the kernel in one line.
        example: a response that an agent could see.
    """

    type: str
    probability: float
    observable: bool
    commit: Commit
    summary: str
    example: str


def describe(profile: FaultProfile) -> list[ProfileRow]:
    """Return a row for each of the nine types, in the order of table 13, then for others used."""
    foreign = sorted(profile.probabilities.keys() - set(FAULT_TYPES))
    return [_row(profile, name) for name in (*FAULT_TYPES, *foreign)]


def _row(profile: FaultProfile, name: str) -> ProfileRow:
    kernel = get_kernel(name)
    commit = profile.commit_of(name) if kernel.observable else "committed"
    probability = profile.probabilities.get(name, 0.0)
    text = example(name)
    return ProfileRow(name, probability, kernel.observable, commit, kernel.summary, text)


_FIELDS = ResultFields(
    contents=(("items",),),
    states=((("status",), ("pending", "processed", "delivered")),),
    amounts=(("total",),),
)
_SPEC = ToolSpec(
    "get_order",
    "Look an order up.",
    {"type": "object", "properties": {"order_id": {"type": "string"}}},
    "read",
    _FIELDS,
)
_CALL = ToolCall("get_order", {"order_id": "#W1"})
_TRUE = ToolResult('{"order_id":"#W1","status":"delivered","items":["lamp"],"total":54.2}')


def example(fault: str) -> str:
    """Return what an agent sees when ``fault`` hits a small order; empty if it cannot hit one.

    Raises:
        UnknownNameError: there is no such fault type.
    """
    ctx = Context(_SPEC, _CALL, _TRUE, None, seed=0, task_id="example", occasion=0)
    corruption = get_kernel(fault).corrupt(ctx)
    return corruption.content if corruption is not None else ""
