"""What is particular to the retail store of τ²-bench, run by the package itself.

Our own simulator of the same store is the domain ``retail``; the classes, result fields and the
five alternative tools are its.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from bench2robust.domains.files import field
from bench2robust.domains.retail.alternatives import ALTERNATIVES
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.fallbacks import CLASSES
from bench2robust.domains.retail.probes import probes
from bench2robust.domains.retail.records import checked
from bench2robust.domains.retail.specs import ALTERNATIVE_SPECS, STOCK_SPECS
from bench2robust.domains.retail.state import Base, State
from bench2robust.domains.retail.tools import Handler
from bench2robust.domains.tau2.copies import Overlay
from bench2robust.domains.tau2.kit import Alternative, Kit, Opened, Probes
from bench2robust.domains.tau2.one_sided import build_agents, open_json
from bench2robust.domains.tau2.session import Run
from bench2robust.domains.tau2.tools import run_calculate

__all__ = ["STORE"]

_TABLES = ("products", "users", "orders")


def _base(opened: Opened) -> Base:
    tables = {name: field(opened.raw, name, dict, "db.json") for name in _TABLES}
    data = RetailData(source="tau2", tasks=(), policy=opened.policy, **tables)
    return Base(checked(data, "db.json"))


def _probes(opened: Opened) -> Probes:
    base = _base(opened)
    return lambda known, blocked: probes(base, known, blocked)


def _alternatives(opened: Opened) -> Sequence[Alternative]:
    base = _base(opened)
    return [Alternative(s, _on_live(base, ALTERNATIVES[s.name])) for s in ALTERNATIVE_SPECS]


def _on_live(base: Base, handler: Handler) -> Run:
    """Return one of our simulator's tools as it runs on the package's live store."""

    def run(environment: Any, /, **arguments: Any) -> str:
        state = State(base)
        for name in _TABLES:
            table = getattr(environment.tools.db, name)
            own = table.own if isinstance(table, Overlay) else {}
            state.changed.update((f"{name}/{k}", r.model_dump_json()) for k, r in own.items())
        return handler(state, **arguments)

    return run


STORE = Kit(
    name="tau2retail",
    folder="retail",
    open=partial(open_json, "RetailDB"),
    build=partial(build_agents, "retail", "RetailTools"),
    probes=_probes,
    classes=CLASSES,
    fields={spec.name: spec.fields for spec in STOCK_SPECS},
    alternatives=_alternatives,
    replaced={"calculate": run_calculate},
)
