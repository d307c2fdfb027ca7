"""How a setting names an arm and its contract: ``advisory``, ``placebo:FILE``, ``auto``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.arms import ARMS

__all__ = ["AUTO", "NONE", "MonitorChoice", "read_monitor"]

AUTO = "auto"
"""The contract that is mined from clean traces of the domain's training tasks."""


class MonitorChoice(NamedTuple):
    """An arm, and where its contract comes from.

    Attributes:
        arm: one of ``ARMS``; ``none`` for no monitor.
        source: ``auto``, or a contract file.
    """

    arm: str = "none"
    source: str = AUTO

    @property
    def label(self) -> str:
        """The arm, and the name of its contract file where it has one: ``advisory:retail``."""
        return self.arm if self.source == AUTO else f"{self.arm}:{Path(self.source).stem}"


NONE = MonitorChoice()


def read_monitor(text: str) -> MonitorChoice:
    """Read ``none``, ``ARM``, ``ARM:SOURCE`` or ``SOURCE`` (an advisory arm with that contract).

    Raises:
        UnknownNameError: there is no such arm; the text names the nearest.
    """
    name, colon, source = text.partition(":")
    if name in ARMS:
        return MonitorChoice(name, source or AUTO)
    if text == AUTO or (text.endswith(".json") and not colon):
        return MonitorChoice("advisory", text)
    if text != NONE.arm:
        raise UnknownNameError(
            "monitor (or contract file, or ARM:FILE)", text, (NONE.arm, AUTO, *ARMS)
        )
    return NONE
