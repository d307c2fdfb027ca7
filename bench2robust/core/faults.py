"""The names of the nine fault types (tables 9 and 13), shared by every part of the package."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "CLEAN",
    "FAULT_TYPES",
    "OBSERVABLE",
    "PERSISTENT",
    "SILENT",
    "FaultType",
    "ObservableFault",
]

ObservableFault = Literal[
    "timeout", "rate_limit", "server_error", "malformed_response", "auth_error", "schema_drift"
]
FaultType = ObservableFault | Literal["partial", "stale", "factual_error"]

OBSERVABLE: tuple[ObservableFault, ...] = (
    "timeout",
    "rate_limit",
    "server_error",
    "malformed_response",
    "auth_error",
    "schema_drift",
)
"""Failures with an explicit signal."""

SILENT: tuple[FaultType, ...] = ("partial", "stale", "factual_error")
"""Well-formed responses with wrong decision-critical fields."""

PERSISTENT: tuple[ObservableFault, ...] = ("auth_error", "schema_drift")
"""The observable failures that usually last; blocked tools answer with one of them."""

FAULT_TYPES: tuple[FaultType, ...] = (*OBSERVABLE, *SILENT)
CLEAN = "clean"
