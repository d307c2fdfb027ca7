"""What a user simulator is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["STOP", "AsyncUser", "User"]

STOP = "###STOP###"
"""Ends the last message of a user."""


class User(Protocol):
    """A user of one episode; made anew for each."""

    def open(self) -> str:
        """Return the first message."""

    def reply(self, said: str) -> str:
        """Return the answer to what the agent said; it ends with ``STOP`` if the user is done.

        Never raises for what the agent said. ``InfrastructureError`` may leave a simulator that
        depends on something outside, such as a model endpoint.
        """


class AsyncUser(Protocol):
    """A user whose words need awaiting; otherwise as :class:`User`."""

    async def open(self) -> str:
        """Return the first message."""

    async def reply(self, said: str) -> str:
        """Return the answer to what the agent said; it ends with ``STOP`` if the user is done."""
