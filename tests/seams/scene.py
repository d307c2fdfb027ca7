"""One task, one plan and one list of calls, for every seam alike.

A seam is shown to be the same as the others by carrying :data:`CALLS` to a fresh
:func:`session` under :data:`PLAN`, :data:`SEED`, :data:`TASK` and :data:`BLOCKED`, and comparing
its ledger with that of the environment.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from bench2robust.core.paths import Pattern
from bench2robust.core.solvability import analyse
from bench2robust.core.types import ToolCall, ToolSpec
from bench2robust.domains import get_domain
from bench2robust.injectors.events import FaultEvent
from bench2robust.injectors.kernels.relevance import qualifying
from bench2robust.injectors.scenarios import ScenarioPlan, plan_scenario

SEED = 11
_NONE = ScenarioPlan("S1")
DATA = "builtin:small"
DOMAIN = get_domain("retail", DATA)
TASK = next(t for t in DOMAIN.tasks() if analyse(DOMAIN, t).switchable and len(t.actions) > 3)
ANALYSIS = analyse(DOMAIN, TASK)
BLOCKED = (plan_scenario("S2", ANALYSIS, SEED, TASK.id, side="primary") or _NONE).blocked
TOOLS = [spec for spec in DOMAIN.tools(True) if spec.faultable]


def calls() -> list[ToolCall]:
    """Return the gold calls of the task, five times each, so that every sort of fault turns up."""
    return [call for call in TASK.actions for _ in range(5)]


@cache
def plan() -> Any:
    """Return the fault plan, with the critical fields that the task needs written down."""
    return {
        "name": "four-seams",
        "base": "realistic",
        "clean": 0.2,
        "budget": 30,
        "max_consecutive": 3,
        "schedule": [{"fault": "partial", "nth": 2}, {"fault": "rate_limit", "every": 5}],
        "fields": {spec.name: _fields(spec) for spec in TOOLS},
    }


def _fields(spec: ToolSpec) -> Any:
    found = qualifying(spec.fields, ANALYSIS.needed.get(spec.name))
    return {
        "contents": [*map(_text, found.contents)],
        "states": {_text(pattern): [*order] for pattern, order in found.states},
        "amounts": [*map(_text, found.amounts)],
    }


def _text(pattern: Pattern) -> str:
    return ".".join(pattern) or "$"


def entry(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": dict(spec.parameters),
        "annotations": {"readOnlyHint": spec.kind != "write"},
    }


def session() -> Any:
    """Return the tools of the task, as nobody has used them yet."""
    return DOMAIN.session(TASK, True)


def rows(events: Iterable[FaultEvent]) -> list[tuple[Any, ...]]:
    """Return a ledger for comparison."""
    return sorted(map(tuple, events))
