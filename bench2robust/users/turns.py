"""A user with several requests, made one after another, whatever the agent says in between."""

from __future__ import annotations

from bench2robust.core.types import UserScript
from bench2robust.users.base import STOP, User
from bench2robust.users.scripted import ScriptedUser

__all__ = ["TurnUser", "scripted_user"]


class TurnUser:
    """A user that answers each message of the agent with the next request of its script.

    So benchmarks with several turns go on: a message of the agent ends the turn. After the last
    request the user thanks and ends.
    """

    __slots__ = ("_heard", "_script")

    def __init__(self, script: UserScript) -> None:
        self._script = script
        self._heard = 0

    def open(self) -> str:
        """Return the first request."""
        return self._script.opening

    def reply(self, said: str) -> str:
        """Return the next request; what was ``said`` does not matter."""
        due = (self._script.turns or ())[self._heard : self._heard + 1]
        self._heard += len(due)
        return due[0] if due else f"Thank you, that is all. {STOP}"


def scripted_user(script: UserScript) -> User:
    """Return the user without a model that plays a script: one that converses, or by turns."""
    return ScriptedUser(script) if script.turns is None else TurnUser(script)
