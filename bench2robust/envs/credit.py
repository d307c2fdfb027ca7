"""The verdict of an episode with credit for gold reads that an equivalent tool stood in for."""

from __future__ import annotations

from bench2robust.core.credit import stood_in
from bench2robust.core.domain import Outcome
from bench2robust.envs.episode import Episode

__all__ = ["credited"]


def credited(episode: Episode, outcome: Outcome) -> Outcome:
    """Return an episode's outcome as the partial credit of equation 2 takes it."""
    if outcome.success or outcome.matched == outcome.required:
        return outcome
    more = stood_in(episode.domain, episode.task, episode.executed.entries)
    return outcome._replace(matched=outcome.matched + more)
