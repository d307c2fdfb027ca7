"""How the setting ``monitor`` of an evaluation is read: arms of monitors, and the reviewer loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench2robust.monitors.choice import AUTO, NONE, MonitorChoice, read_monitor
from bench2robust.monitors.contract import load_contract

__all__ = ["REVIEWER", "decisive_monitors", "is_reviewer", "monitor_choice", "pinned_monitor"]

REVIEWER = "reviewer"
"""The arm in which somebody looks at each call before it runs; results are checked in silence."""
_SILENT = "baseline"


def is_reviewer(text: str) -> bool:
    """Say whether a setting names the reviewer loop."""
    return text.partition(":")[0] == REVIEWER


def monitor_choice(text: str) -> MonitorChoice:
    """Return the monitor that a setting names.

    Raises:
        UnknownNameError: there is no such arm.
    """
    if is_reviewer(text):
        return MonitorChoice(_SILENT, text.partition(":")[2] or AUTO)
    return read_monitor(text)


def pinned_monitor(text: str) -> str:
    """Return the same setting with an absolute path to its contract."""
    choice = monitor_choice(text)
    if choice.source == AUTO:
        return text
    arm = REVIEWER if is_reviewer(text) else choice.arm
    return f"{arm}:{Path(choice.source).absolute()}"


def decisive_monitors(texts: Sequence[str], reviewer: str) -> dict[str, Any]:
    """Return, as JSON values, what decides results; a contract file by its content.

    Raises:
        DataError: a contract cannot be read.
    """
    if tuple(texts) == (NONE.arm,):
        return {}
    rows = []
    for text in texts:
        choice = monitor_choice(text)
        source = choice.source if choice.source == AUTO else load_contract(choice.source).sha256
        rows.append([choice.arm, source, reviewer if is_reviewer(text) else ""])
    return {"monitor": rows}
