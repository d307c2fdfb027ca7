"""The monitor of an episode, with a contract from clean traces of other tasks.

The contract ``auto`` is mined from clean executions of the training tasks: of each task's plan, of
the plan by its alternative paths, and with a look back after each write that moved a state. A task
that is itself among them (or any task, where a domain has no training split) gets the contract of
the folds that it is not in, so no task is checked against a contract that has seen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from bench2robust.core.backend import LogEntry, ToolBackend
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.domain import Domain
from bench2robust.core.paths import leaves, matches
from bench2robust.core.solvability import analyse, solve, specs_of
from bench2robust.core.types import Task, ToolCall, ToolResult
from bench2robust.monitors.arms import Watcher, make_arm
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.choice import AUTO, NONE, MonitorChoice
from bench2robust.monitors.contract import Contract, load_contract
from bench2robust.monitors.miner import FOLDS, Miner, fold_of
from bench2robust.monitors.receipts import Wording
from bench2robust.monitors.recovery import Substitutes, substitutes_of

__all__ = ["clean_calls", "contract_of", "fold_of_task", "watch"]

PROFILE = "strict"


def watch(domain: Domain, task: Task, choice: MonitorChoice, inner: ToolBackend) -> Watcher | None:
    """Put the chosen arm around a backend; None for no monitor.

    Raises:
        DataError: the contract file cannot be read.
    """
    if choice.arm == NONE.arm:
        return None
    checker = _checker(
        domain, fold_of_task(domain, task) if choice.source == AUTO else choice.source
    )
    wording = Wording(f"a known invariant of the {domain.name} database")
    return make_arm(choice.arm, inner, checker, _substitutes(domain), wording)


def contract_of(domain: Domain, task: Task, source: str = AUTO) -> Contract:
    """Return the contract that an episode of ``task`` is checked against."""
    return _checker(domain, fold_of_task(domain, task) if source == AUTO else source).contract


def clean_calls(domain: Domain, task: Task) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield the calls of clean executions of a task, with their results."""
    found = analyse(domain, task)
    blocked = (frozenset[str](), *(sides.primary for sides in found.switchable))
    for around in blocked:
        session = domain.session(task, alternatives=True)
        made: list[LogEntry] = []
        for call in solve(domain, task, found.plan, around).calls:
            before = session.revision
            result = session.call(call)
            yield call, result
            if session.revision != before and (read := _read_of(call, made)):
                again = session.call(read.call)
                if _states(domain, read.call, again) != _states(domain, read.call, read.result):
                    yield read.call, again
            made.append(LogEntry(call, result))


def _read_of(write: ToolCall, made: Sequence[LogEntry]) -> LogEntry | None:
    """Return the newest read about the record of a write: they share a text argument."""
    about = _texts(write)
    reads = (e for e in reversed(made) if e.call.name != write.name and about & _texts(e.call))
    return next(reads, None)


def _texts(call: ToolCall) -> set[str]:
    return {value for value in call.arguments.values() if isinstance(value, str)}


def _states(domain: Domain, call: ToolCall, result: ToolResult) -> list[Json]:
    """Return what the fields of a result hold that have a life cycle."""
    patterns = [p for p, _ in specs_of(domain, True)[call.name].fields.states]
    return [
        leaf
        for path, leaf in leaves(parse_result(result.content))
        if any(len(p) == len(path) and matches(p, path) for p in patterns)
    ]


def fold_of_task(domain: Domain, task: Task) -> int | None:
    """Return which fold's registry checks a task; None for the contract of all training tasks."""
    return fold_of(task.id) if task.split == "train" or not _has_training(domain) else None


@lru_cache(maxsize=64)
def _has_training(domain: Domain) -> bool:
    return bool(domain.tasks("train"))


@lru_cache(maxsize=64)
def _substitutes(domain: Domain) -> Substitutes:
    return substitutes_of(domain.classes)


@lru_cache(maxsize=64)
def _checker(domain: Domain, source: int | str | None) -> Checker:
    if isinstance(source, str):
        return Checker(load_contract(source))
    return Checker(_mined(domain).finalise(PROFILE) if source is None else _folds(domain)[source])


@lru_cache(maxsize=8)
def _folds(domain: Domain) -> list[Contract]:
    return _mined(domain).registries(PROFILE)


@lru_cache(maxsize=8)
def _mined(domain: Domain) -> Miner:
    miner = Miner(FOLDS)
    for task in domain.tasks("train") or domain.tasks():
        for call, result in clean_calls(domain, task):
            if not result.is_error:
                miner.add(call.name, call.arguments, result.content, task.id)
    return miner
