"""Opening and building a domain of one database, whose users have no tools of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench2robust.domains.files import read_json, read_prose
from bench2robust.domains.tau2.kit import Opened
from bench2robust.domains.tau2.opening import read_database
from bench2robust.domains.tau2.package import Package

__all__ = ["build_agents", "open_json"]


def open_json(model: str, package: Package, folder: Path) -> Opened:
    """Return the files of a domain: ``db.json`` and ``policy.md``.

    Args:
        model: the name of the database's class among the package's models.

    Raises:
        DataError: a file is missing or damaged.
    """
    raw = read_json(folder / "db.json")
    database, digest = read_database(getattr(package.models, model), raw, folder / "db.json")
    return Opened((database, None), raw, read_prose(folder / "policy.md"), digest)


def build_agents(name: str, tools: str, package: Package, database: Any, _: Any) -> Any:
    """Return τ²-bench's environment over a database.

    Args:
        name: τ²-bench's name of the domain.
        tools: the name of the class of the agent's tools.
    """
    module = package.environment
    return module.Environment(name, "", getattr(module, tools)(database))
