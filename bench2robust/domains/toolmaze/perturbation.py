"""ToolMaze's levels P0 to P4 as fault plans of ours.

Theirs replays an answer that was written beforehand; ours draws it with a kernel of table 9. What
is the same is when the tool fails and whether the failure shows: its first call (transient) or
every call (permanent), with an error (explicit) or a wrong value (implicit).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.paths import leaves
from bench2robust.core.types import Scenario
from bench2robust.domains.toolmaze.tasks import Case, Trace

__all__ = ["LEVELS", "Perturbation", "perturbation"]

LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "P0": "clean",
        "P1": "explicit, transient",
        "P2": "explicit, permanent",
        "P3": "implicit, transient",
        "P4": "implicit, permanent",
    }
)
"""ToolMaze's levels in words."""

_EVERY_CALL = 10**6
_EXPLICIT, _LASTING = "server_error", "auth_error"


class Perturbation(NamedTuple):
    """What an episode is to be played under.

    Attributes:
        faults: the fault profile, as :func:`bench2robust.injectors.profiles.load_profile` takes
            it.
        scenario: ``S2`` where a tool fails for good and another can stand in; else ``S1``.
        side: which side S2 blocks: the one that the agent calls first, as in ToolMaze.
        right: what the right reaction is: ``none``, ``retry``, ``switch`` or ``abort``.
    """

    faults: Mapping[str, Any]
    scenario: Scenario
    side: Literal["first_called", "random"]
    right: Literal["none", "retry", "switch", "abort"]


def perturbation(case: Case, level: str) -> Perturbation:
    """Return the plan of one level of a task.

    Raises:
        UnknownNameError: the task has no such level.
    """
    if level not in case.levels:
        raise UnknownNameError(f"level of task {case.id}", level, case.levels)
    victim = case.levels[level].victim
    alone = case.complexity.upper() == "C1"  # one path: nothing can stand in
    if level == "P0" or not victim:
        return Perturbation(_faults(), "S1", "random", "none")
    if level == "P2" and not alone:
        return Perturbation(_faults(), "S2", "first_called", "switch")
    kind = {"P1": _EXPLICIT, "P2": _LASTING}.get(level) or _implicit(case, level)
    if level in ("P1", "P3"):
        return Perturbation(_faults(victim, kind), "S1", "random", "retry")
    right: Literal["switch", "abort"] = "abort" if alone else "switch"
    return Perturbation(_faults(victim, kind, lasting=True), "S1", "random", right)


def _implicit(case: Case, level: str) -> str:
    """Return the silent kernel that is most like the recorded answer.

    Where nothing but numbers differs from the true one, wrong numbers; else emptied fields.
    """
    truth = {(t.call.name, canonical(t.call.arguments)): t.output for t in _traces(case, "P0")}
    wrong = next(t for t in _traces(case, level) if t.perturbed)
    told = dict(leaves(wrong.output))
    true = dict(leaves(truth.get((wrong.call.name, canonical(wrong.call.arguments)))))
    differing = [true.get(place) for place, leaf in told.items() if true.get(place) != leaf]
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in differing)
    return "factual_error" if numbers and differing else "partial"


def _traces(case: Case, level: str) -> Iterator[Trace]:
    return (trace for path in case.levels[level].paths for trace in path)


def _faults(victim: str = "", kind: str = "", lasting: bool = False) -> dict[str, Any]:
    """Return a profile in which the victim alone fails: once, or at every call."""
    tools = {victim: {kind: 1.0}} if victim else {}
    most = _EVERY_CALL if lasting else 1
    return {"name": "toolmaze", "clean": 1.0, "tools": tools, "budget": most,
            "max_consecutive": most}  # fmt: skip
