"""A counter with two ways to find an order: all that a memory needs to know of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError
from bench2robust.core.fallback import FallbackClass, FallbackPath
from bench2robust.core.types import Task, ToolSpec, UserScript

SPLITS = {"t1": "train", "t2": "train", "t3": "train", "h1": "test"}


def _spec(name: str, kind: Any, faultable: bool = True) -> ToolSpec:
    return ToolSpec(name, name, {"type": "object"}, kind, faultable=faultable)


def _path(source: str, target: str, granularity: Any, note: str) -> FallbackPath:
    return FallbackPath(source, target, granularity, note, lambda a, k: None, lambda a, r: None)


def _task(task_id: str) -> Task:
    if task_id not in SPLITS:
        raise UnknownNameError("task", task_id, SPLITS)
    return Task(task_id, SPLITS[task_id], "plain", UserScript("Hello."), ())


@pytest.fixture(scope="session")
def counter() -> Any:
    """The domain; its alternative tool is ``list_orders``."""
    stock = (
        _spec("get_order", "read"),
        _spec("cancel", "write"),
        _spec("calculate", "generic"),
        _spec("transfer", "generic", faultable=False),
    )
    paths = (
        _path("get_order", "list_orders", "some", "summaries; no address"),
        _path("get_order", "list_orders", "none", "order numbers alone"),
        _path("list_orders", "get_order", "all", "one call for each order"),
    )
    return SimpleNamespace(
        name="counter",
        digest="c0",
        classes=(FallbackClass("order", ("get_order", "list_orders"), paths),),
        tools=lambda alternatives=False: (
            (*stock, _spec("list_orders", "read")) if alternatives else stock
        ),
        task=_task,
    )


def episode(
    task: str,
    success: bool,
    calls: Sequence[str] = (),
    faults: Mapping[int, str | None] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return a record; ``faults`` maps positions of calls to what was delivered."""
    rows = [
        {"step": step, "tool": calls[step], "delivered": delivered}
        for step, delivered in (faults or {}).items()
    ]
    events = [{"user": "Hello."}, *({"call": name, "args": {}} for name in calls)]
    record = {"task": task, "status": "ok", "flags": [], "success": success}
    return {**record, "faults": rows, "events": events, **changes}
