"""Simulated time: what an episode would have taken, and whether rate limits were respected.

A tool call takes one second plus the latency of its fault; a message with the user's reply takes
five. The figures only have to be the same for everyone: real times live in the timings sidecar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench2robust.core.backend import LogEntry
from bench2robust.envs.episode import Turn
from bench2robust.injectors.events import FaultEvent
from bench2robust.injectors.machine import CALL_SECONDS

__all__ = ["CALL_SECONDS", "REPLY_SECONDS", "Clock", "simulate"]

REPLY_SECONDS = 5.0


class Clock(NamedTuple):
    """How long an episode took, and how many calls came before a Retry-After had passed."""

    seconds: float
    violations: int


def simulate(
    turns: Sequence[Turn], calls: Sequence[LogEntry], events: Mapping[int, FaultEvent]
) -> Clock:
    """Walk through an episode.

    Args:
        events: the fault at each position of ``calls`` that met one.
    """
    now = 0.0
    violations = 0
    open_from: dict[str, float] = {}
    for speaker, content in turns:
        if speaker == "assistant":
            now += REPLY_SECONDS
        elif isinstance(content, int):
            tool = calls[content].call.name
            violations += now < open_from.get(tool, 0.0)
            event = events.get(content)
            now += CALL_SECONDS
            if event is not None:
                now += event.latency
                if event.retry_after is not None:
                    open_from[tool] = now + event.retry_after
    return Clock(round(now, 3), violations)
