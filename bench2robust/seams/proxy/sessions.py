"""The sessions of a server over HTTP, each with faults and a monitor of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from bench2robust.seams.proxy.exchange import Exchange
from bench2robust.seams.proxy.latest import Latest
from bench2robust.seams.proxy.passage import TRANSPARENT, Careful, Rules
from bench2robust.seams.proxy.session import Session

__all__ = ["Conversations", "Sessions", "Transparent"]

_MOST = 1000


class Conversations(Protocol):
    """Where an HTTP relay gets the rules for a request."""

    def open(self, session: str | None) -> AbstractContextManager[Rules]:
        """Enter the rules of a session, or those of one request without any."""

    def close(self, session: str) -> None:
        """End a session: its client did so."""

    def close_all(self) -> None:
        """End every session."""


class Transparent:
    """Every session without rules."""

    def open(self, session: str | None) -> AbstractContextManager[Rules]:
        """Enter no rules."""
        return nullcontext(TRANSPARENT)

    def close(self, session: str) -> None:
        """Do nothing."""

    def close_all(self) -> None:
        """Do nothing."""


class Sessions:
    """The rules of every session.

    Args:
        make: begins a session.
        warn: is told what a user should know.
    """

    def __init__(self, make: Callable[[], Session], warn: Callable[[str], None]) -> None:
        self._make = make
        self._warn = warn
        self._known: Latest[tuple[Session, Exchange]] = Latest(_end, _MOST)
        self._stateless: Session | None = None

    @contextmanager
    def open(self, session: str | None) -> Iterator[Rules]:
        """Yield the rules of a session, or those of one request without any.

        Requests without a session are those of one client in the stateless era, who sends what
        belongs together with each of them. Their ids are their own.
        """
        if session is not None:
            yield Careful(self._of(session), self._warn)
            return
        if self._stateless is None:
            self._stateless = self._make()
        exchange = Exchange(self._stateless)
        try:
            yield Careful(exchange, self._warn)
        finally:
            exchange.over()

    def _of(self, name: str) -> Exchange:
        known = self._known.get(name)
        if known is None:
            session = self._make()
            known = session, Exchange(session)
        self._known.put(name, known)
        return known[1]

    def close(self, session: str) -> None:
        """End a session: its client did so."""
        known = self._known.pop(session, None)
        if known is not None:
            _end(known)

    def close_all(self) -> None:
        """End every session."""
        for name in list(self._known):
            self.close(name)
        if self._stateless is not None:
            self._stateless.close()
            self._stateless = None


def _end(known: tuple[Session, Exchange]) -> None:
    session, exchange = known
    exchange.over()
    session.close()
