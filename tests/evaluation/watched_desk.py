"""The desk as a domain of a third party, whose data folder says what goes wrong.

Files in the folder: ``break`` (episodes of a task break down); and, in other processes than the one
that is noted in ``driver``: ``hang`` (the first session of the task waits, its process noted in
``busy``), ``die`` (its process ends), ``lose`` (the task is not found), ``refuse`` (the domain does
not load), ``other`` (its suite is another one).
"""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

from bench2robust.core.types import Task

BAD = "look_2"


def _desk() -> Any:
    path = Path(__file__).with_name("conftest.py")
    spec = importlib.util.spec_from_file_location("desk", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WatchedDesk(_desk().DeskDomain):  # type: ignore[misc]
    """The domain."""

    name = "watched"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._away = (folder / "driver").read_text() != str(os.getpid())
        self.digest = "other" if self._does("other") else "d35c"
        if self._does("refuse"):
            raise RuntimeError("no licence on this machine")

    def task(self, task_id: str) -> Task:
        if self._does("lose") and task_id == BAD:
            raise LookupError("the database is gone")
        return super().task(task_id)  # type: ignore[no-any-return]

    def session(self, task: Task, alternatives: bool = False) -> Any:
        if task.id == BAD:
            self._misbehave()
        return super().session(task, alternatives)

    def evaluate(self, task: Task, *finished: Any) -> Any:
        if task.id == BAD and (self._folder / "break").exists():
            raise RuntimeError("boom")
        return super().evaluate(task, *finished)

    def _misbehave(self) -> None:
        if self._does("die"):
            os._exit(1)
        busy = self._folder / "busy"
        if self._does("hang") and not busy.exists():
            busy.write_text(str(os.getpid()))
            time.sleep(60)

    def _does(self, name: str) -> bool:
        return self._away and (self._folder / name).exists()


def load(data: str | None) -> WatchedDesk:
    """Load the domain, as its entry point."""
    assert data is not None
    return WatchedDesk(Path(data))
