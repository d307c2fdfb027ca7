"""What happened below an agent's calls, call by call: the fault that each met, and what really ran.

A monitor that verifies makes calls of its own, which the agent did not make. They run and meet
faults like any others, and are left out here. So is what the user did with tools of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bench2robust.core.backend import LogEntry, UserAct
from bench2robust.injectors.events import FaultEvent

if TYPE_CHECKING:
    from bench2robust.envs.episode import Episode
    from bench2robust.monitors.arms import Watcher

__all__ = ["Aligned", "align"]


class Aligned(NamedTuple):
    """An episode by the positions of the agent's calls.

    Attributes:
        events: the fault at each call at which one was planned; ``index`` is that position.
        executed: for each call, what really ran; None for a blocked or rejected one.
    """

    events: Mapping[int, FaultEvent]
    executed: list[LogEntry | None]


def align(episode: Episode) -> Aligned:
    """Return the faults and executed calls of an episode by the agent's calls."""
    by_index = {event.index: event for event in episode.injector.events}
    ran = (entry for entry in episode.executed.entries if type(entry) is not UserAct)
    every = [
        None if (event := by_index.get(i)) is not None and not event.executed else next(ran)
        for i in range(episode.injector.calls)
    ]
    if episode.monitor is None:  # every call that reached the injector is the agent's
        return Aligned(by_index, every)
    own = _own_calls(episode.monitor)
    events = {
        position: by_index[i]._replace(index=position)
        for position, i in enumerate(own)
        if i in by_index
    }
    return Aligned(events, [every[i] for i in own])


def _own_calls(monitor: Watcher) -> list[int]:
    """Return, for each call of the agent's, its place among all that reached the injector."""
    places, place = [], 0
    for check in monitor.checks:
        places.append(place)
        place += check.calls
    return places
