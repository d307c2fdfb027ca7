"""BFCL's own verdict, for clean episodes.

Its checker makes the calls of an episode again, on instances of its own, and compares state and
texts after each turn. That is right only where every call was answered truly: a call that a fault
kept from running would be made after all. So it is asked about clean episodes, and
:meth:`~bench2robust.domains.bfcl.domain.BfclDomain.evaluate` about all others.

The calls are written as text for it, by :func:`~bench2robust.domains.bfcl.calls.write_call`, from
JSON values and documented names; a text of an agent never reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import count
from typing import Any

from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl.calls import write_call
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.limits import too_much

__all__ = ["calls_by_turn", "official_verdict"]

_MULTI_TURN = "bfcl_eval.eval_checker.multi_turn_eval"
_runs = count()


def calls_by_turn(events: Iterable[Mapping[str, Any]]) -> list[list[ToolCall]]:
    """Return the calls of a recorded dialogue, apart by turn: a message of the agent ends one.

    Args:
        events: the ``events`` of an episode record.
    """
    turns: list[list[ToolCall]] = [[]]
    for event in events:
        if "call" in event:
            turns[-1].append(ToolCall(event["call"], event["args"]))
        elif "say" in event:
            turns.append([])
    return turns


def official_verdict(
    domain: BfclDomain, task_id: str, turns: Sequence[Sequence[ToolCall]]
) -> tuple[bool, str]:
    """Return the benchmark's verdict on a clean episode, and its reason against it.

    Both of its checks are made: ``multi_turn_checker`` and ``multi_turn_irrelevance_checker``.

    Args:
        turns: the calls of each turn; those after the last turn must be none.
    """
    entry = domain.entries[task_id]
    gold = [list(texts) for texts in entry.gold]
    known = {spec.name for spec in domain.offered(entry.task, heard=len(gold))}
    made = [[c for c in calls if c.name != TRANSFER] for calls in turns]
    if strange := [c.name for calls in made for c in calls if not _may_run(c, known)]:
        return False, f"calls that the benchmark's executor is not given: {', '.join(strange)}"
    if any(made[len(gold) :]):
        return False, "calls after the last turn"
    steps = [[[write_call(call)] for call in calls] for calls in made[: len(gold)]]
    steps += [[] for _ in gold[len(steps) :]]
    return _asked(entry.raw, entry.task.intent, steps, gold)


def _may_run(call: ToolCall, known: set[str]) -> bool:
    """Whether a call is one of a known function, with names that are names, that ends."""
    proper = all(name.isidentifier() for name in call.arguments)
    return call.name in known and proper and not too_much_for(call)


def too_much_for(call: ToolCall) -> bool:
    """Say whether a call of the calculator is one that is never made."""
    return call.name in _CALCULATOR and bool(too_much(call.name, call.arguments))


_CALCULATOR = frozenset(
    "add subtract multiply divide power square_root logarithm absolute_value round_number "
    "percentage min_value max_value sum_values mean standard_deviation si_unit_conversion "
    "imperial_si_conversion".split()
)


def _asked(
    raw: Mapping[str, Any], category: str, steps: list[list[list[str]]], gold: list[list[str]]
) -> tuple[bool, str]:
    checker = import_module(f"{_MULTI_TURN}.multi_turn_checker")
    name = f"bench2robust_{next(_runs)}"
    try:
        verdict = checker.multi_turn_checker(steps, gold, raw, f"multi_turn_{category}", name)
        if verdict["valid"]:
            verdict = checker.multi_turn_irrelevance_checker(steps, gold)
    finally:
        _forget(name)
    return bool(verdict["valid"]), str(verdict.get("error_type", ""))


def _forget(name: str) -> None:
    """Delete the instances that the benchmark's executor keeps for ever under a name of the run."""
    kept = vars(import_module(f"{_MULTI_TURN}.multi_turn_utils"))
    for key in [k for k in kept if k.startswith(name) and k.endswith("_instance")]:
        del kept[key]
