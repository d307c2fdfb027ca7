"""Letting an agent act in an episode until it is over."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

from bench2robust.agents.base import (
    Action,
    Actions,
    AsyncActions,
    Observation,
    Say,
    Unreadable,
)
from bench2robust.envs.episode import Episode
from bench2robust.users import AsyncUser

__all__ = ["act", "close", "converse", "next_action", "play"]


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


async def converse(
    actions: Actions | AsyncActions, episode: Episode, user: AsyncUser | None
) -> None:
    """Drive ``episode`` as :func:`play` does, where agent or user have to be waited for.

    Args:
        user: whom the agent talks to; None for the episode's own user.
    """
    back: Observation | None = None
    try:
        while not episode.done:
            action = await next_action(actions, back)
            if action is None:
                return
            back = await _do(action, episode, user)
            episode.check_limit()
    finally:
        await close(actions)


async def close(actions: Actions | AsyncActions) -> None:
    """End an agent's actions, whether or not it has to be waited for."""
    if isinstance(actions, AsyncGenerator):
        await actions.aclose()
    else:
        actions.close()


async def next_action(
    actions: Actions | AsyncActions, back: Observation | None
) -> Action | Unreadable | None:
    """Return an agent's next action after ``back``, None at the start; None once it stops."""
    try:
        if isinstance(actions, AsyncGenerator):
            return await actions.asend(back)
        return next(actions) if back is None else actions.send(back)
    except (StopIteration, StopAsyncIteration):
        return None


async def _do(action: Action | Unreadable, episode: Episode, user: AsyncUser | None) -> Observation:
    if isinstance(action, Unreadable):
        return episode.skip(action.text, action.answer)
    if not isinstance(action, Say):
        return episode.call(action)
    if user is None:
        return episode.say(action.text)
    return episode.exchange(action.text, await user.reply(action.text))
