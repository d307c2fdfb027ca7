"""What is particular to the airline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench2robust.domains.files import read_json, read_prose
from bench2robust.domains.tau2.airline.alternatives import alternatives
from bench2robust.domains.tau2.airline.fallbacks import CLASSES
from bench2robust.domains.tau2.airline.fields import FIELDS
from bench2robust.domains.tau2.airline.probes import make_probes
from bench2robust.domains.tau2.airline.words import in_the_tools_terms
from bench2robust.domains.tau2.kit import Kit, Opened
from bench2robust.domains.tau2.opening import read_database
from bench2robust.domains.tau2.package import Package
from bench2robust.domains.tau2.tools import run_calculate

__all__ = ["AIRLINE"]


def _open(package: Package, folder: Path) -> Opened:
    raw = read_json(folder / "db.json")
    database, digest = read_database(package.models.FlightDB, raw, folder / "db.json")
    return Opened((database, None), raw, read_prose(folder / "policy.md"), digest)


def _build(package: Package, database: Any, _: Any) -> Any:
    module = package.environment
    return module.Environment("airline", "", module.AirlineTools(database))


AIRLINE = Kit(
    name="airline",
    folder="airline",
    open=_open,
    build=_build,
    probes=make_probes,
    classes=CLASSES,
    fields=FIELDS,
    alternatives=alternatives,
    replaced={"calculate": run_calculate},
    lazy={"flights": "dates"},
    script=in_the_tools_terms,
)
