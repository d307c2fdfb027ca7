"""What is particular to the airline."""

from __future__ import annotations

from functools import partial

from bench2robust.domains.tau2.airline.alternatives import alternatives
from bench2robust.domains.tau2.airline.fallbacks import CLASSES
from bench2robust.domains.tau2.airline.fields import FIELDS
from bench2robust.domains.tau2.airline.probes import make_probes
from bench2robust.domains.tau2.airline.words import in_the_tools_terms
from bench2robust.domains.tau2.kit import Kit
from bench2robust.domains.tau2.one_sided import build_agents, open_json
from bench2robust.domains.tau2.tools import run_calculate

__all__ = ["AIRLINE"]

AIRLINE = Kit(
    name="airline",
    folder="airline",
    open=partial(open_json, "FlightDB"),
    build=partial(build_agents, "airline", "AirlineTools"),
    probes=make_probes,
    classes=CLASSES,
    fields=FIELDS,
    alternatives=alternatives,
    replaced={"calculate": run_calculate},
    lazy={"flights": "dates"},
    script=in_the_tools_terms,
)
