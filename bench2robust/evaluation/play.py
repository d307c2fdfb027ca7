"""Letting an agent act in an episode until it is over."""

from __future__ import annotations

from collections.abc import Iterator

from bench2robust.agents.base import Actions, Say
from bench2robust.envs.episode import Episode

__all__ = ["act", "play"]


def act(actions: Actions, episode: Episode) -> Iterator[None]:
    """Drive ``episode`` with an agent's actions, one per item, until it ends or they stop."""
    try:
        action = next(actions)
        while True:
            back = episode.say(action.text) if isinstance(action, Say) else episode.call(action)
            if episode.check_limit():
                actions.close()
                return
            yield
            action = actions.send(back)
    except StopIteration:
        return


def play(actions: Actions, episode: Episode) -> None:
    """Drive ``episode`` with an agent's actions until it ends or the agent stops acting."""
    for _ in act(actions, episode):
        pass
