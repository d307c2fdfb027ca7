"""What is particular to the telephone company: a user with a phone, and bills with random ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench2robust.domains.files import read_prose
from bench2robust.domains.tau2.kit import Kit, Opened
from bench2robust.domains.tau2.opening import read_database, read_toml
from bench2robust.domains.tau2.package import Package
from bench2robust.domains.tau2.telecom.alternatives import alternatives
from bench2robust.domains.tau2.telecom.fallbacks import CLASSES
from bench2robust.domains.tau2.telecom.fields import FIELDS
from bench2robust.domains.tau2.telecom.hands import hear
from bench2robust.domains.tau2.telecom.probes import make_probes

__all__ = ["TELECOM"]

_POLICY = "<main_policy>\n{}\n</main_policy>\n<tech_support_policy>\n{}\n</tech_support_policy>"


def _open(package: Package, folder: Path) -> Opened:
    raw, phone = read_toml(folder / "db.toml"), read_toml(folder / "user_db.toml")
    module = package.environment
    database, digest = read_database(module.TelecomDB, raw, folder / "db.toml")
    user, of_user = read_database(module.TelecomUserDB, phone, folder / "user_db.toml")
    texts = (read_prose(folder / name) for name in ("main_policy.md", "tech_support_manual.md"))
    return Opened((database, user), raw, _POLICY.format(*texts), digest + of_user)


def _build(package: Package, database: Any, user: Any) -> Any:
    module = package.environment
    user_tools = module.TelecomUserTools(user)
    # A broken connection spoils the class's own details, for every later environment.
    details = type(module.TelecomUserTools.default_vpn_details)
    user_tools.default_vpn_details = details(**_VPN)
    return module.TelecomEnvironment("telecom", "", module.TelecomTools(database), user_tools)


_VPN = {"server_address": "192.168.1.1", "protocol": "OpenVPN", "server_performance": "excellent"}


def _settle(environment: Any, start: Any) -> None:
    """Give new bills ids that are the same on every run; τ²-bench draws them at random."""
    bills = environment.tools.db.bills
    for number in range(len(start.tools.db.bills), len(bills)):
        bill, settled = bills[number], f"B9{number:06d}"
        if bill.bill_id == settled:
            continue
        for customer in environment.tools.db.customers:
            customer.bill_ids = [settled if b == bill.bill_id else b for b in customer.bill_ids]
        bill.bill_id = settled


TELECOM = Kit(
    name="telecom",
    folder="telecom",
    open=_open,
    build=_build,
    probes=make_probes,
    classes=CLASSES,
    fields=FIELDS,
    alternatives=alternatives,
    settle=_settle,
    hear=hear,
)
