"""BFCL's own verdict, for clean episodes.

Its checker makes the calls of an episode again, on instances of its own, and compares state and
texts after each turn. That is right only where every call was answered truly: a call that a fault
kept from running would be made after all. So it is asked about clean episodes, and
:meth:`~bench2robust.domains.bfcl.domain.BfclDomain.evaluate` about all others.

The checker's code runs as it is, but for the executor under it. The benchmark's one evaluates the
texts of calls and keeps its instances for ever; here sessions of ours run parsed calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

from bench2robust.core.types import Task, ToolCall
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.session import BfclSession

__all__ = ["calls_by_turn", "official_verdict"]

Turns: TypeAlias = Sequence[Sequence[ToolCall]]
_Executed: TypeAlias = tuple[list[str], dict[str, Any]]


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


def official_verdict(domain: BfclDomain, task_id: str, turns: Turns) -> tuple[bool, str]:
    """Return the benchmark's verdict on a clean episode, and its reason against it.

    Both of its checks are made: ``multi_turn_checker`` and ``multi_turn_irrelevance_checker``.

    Args:
        turns: the calls of each turn. There must be none after the last turn.
    """
    entry = domain.entries[task_id]
    gold = _by_turn(entry.task, len(entry.gold))
    # The benchmark has no tool that hands the user over, so a transfer is no call to it.
    made = [[call for call in calls if call.name != TRANSFER] for calls in turns]
    if any(made[len(gold) :]):
        return False, "calls after the last turn"
    made += [[] for _ in gold[len(made) :]]
    steps = [[[call] for call in calls] for calls in made[: len(gold)]]
    check, irrelevant = _checkers()
    executor = _Executor(domain, entry.task, {})
    verdict = check(executor)(steps, gold, entry.raw, f"multi_turn_{entry.task.intent}", "agent")
    if verdict["valid"]:
        verdict = irrelevant(steps, gold)
    return bool(verdict["valid"]), str(verdict.get("error_type", ""))


def _by_turn(task: Task, turns: int) -> list[list[ToolCall]]:
    pairs = list(zip(task.actions, task.turns, strict=True))
    return [[call for call, of in pairs if of == turn] for turn in range(turns)]


class _Executor(NamedTuple):
    """What the checker takes for the benchmark's executor."""

    domain: BfclDomain
    task: Task
    sessions: dict[str, BfclSession]

    def __call__(
        self, func_call_list: Sequence[ToolCall], model_name: str, **rest: object
    ) -> _Executed:
        """Run calls on the session that goes by a name; return their texts, and the instances."""
        if model_name not in self.sessions:
            self.sessions[model_name] = self.domain.session(self.task)
        session = self.sessions[model_name]
        return [session.call(call).content for call in func_call_list], session.instances


_Checker: TypeAlias = Callable[..., Mapping[str, Any]]


@lru_cache(maxsize=1)
def _checkers() -> tuple[Callable[[_Executor], _Checker], _Checker]:
    """Return what makes the checker for an executor, and the check of turns without gold calls."""
    module = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    code = module.multi_turn_checker.__code__

    def check(executor: _Executor) -> _Checker:
        return FunctionType(code, {**vars(module), "execute_multi_turn_func_call": executor})

    return check, module.multi_turn_irrelevance_checker
