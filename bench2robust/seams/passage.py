"""A call on its way through a seam, and what the agent gets of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolCall
from bench2robust.injectors.events import FaultEvent
from bench2robust.injectors.machine import Pending
from bench2robust.monitors.ledger import Check

__all__ = ["Delivery", "Passage"]


@dataclass(slots=True)
class Passage:
    """A call on its way.

    Attributes:
        index: which call of the seam it is, from 0.
        answer: what the agent gets without the call being run; None if it is to be run.
    """

    call: ToolCall
    index: int
    fault: Pending | None = None
    answer: Delivery | None = None


class Delivery(NamedTuple):
    """What the agent gets.

    Attributes:
        content: the text of the result, true or not, without what is said about it.
        is_error: whether it is marked as an error.
        spoken: the whole text, with receipt and loop advisory, as an environment shows it.
        event: the row of the fault ledger, if a fault was planned.
        check: the row of the monitor's ledger, if there is a monitor.
        receipt: the receipt of the monitor as a JSON object, if there is one.
        notes: receipt and loop advisory as texts of their own, to stand after ``content``.
    """

    content: str
    is_error: bool
    spoken: str
    event: FaultEvent | None = None
    check: Check | None = None
    receipt: dict[str, Json] | None = None
    notes: tuple[str, ...] = ()

    @property
    def faulted(self) -> bool:
        """Whether ``content`` is not that of the true result."""
        return self.event is not None and self.event.delivered is not None

    @property
    def touched(self) -> bool:
        """Whether the agent gets anything else than the true result."""
        return self.faulted or bool(self.notes)
