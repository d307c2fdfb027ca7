"""What a relay asks of whoever may change a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

__all__ = ["TRANSPARENT", "Careful", "Passage", "Rules"]


class Passage(NamedTuple):
    """What becomes of a frame from the client.

    Attributes:
        onward: what the server gets; None if it gets nothing.
        back: what the client gets at once from the proxy itself; None if nothing.
    """

    onward: bytes | None
    back: bytes | None = None


class Rules(Protocol):
    """Looks at the frames of one conversation, in order, and may change them.

    A frame is the bytes of one JSON-RPC message or batch. What is not changed comes back as the
    very object that was given.
    """

    def from_client(self, frame: bytes) -> Passage:
        """Say what becomes of a frame from the client."""

    def from_server(self, frame: bytes) -> bytes:
        """Return what the client gets in place of a frame from the server."""

    def unanswered(self, frame: bytes) -> None:
        """Take note that what a frame from the client asks will not be answered any more."""


class _Transparent:
    """Faults off: every frame passes, and none is even parsed."""

    def from_client(self, frame: bytes) -> Passage:
        return Passage(frame)

    def from_server(self, frame: bytes) -> bytes:
        return frame

    def unanswered(self, frame: bytes) -> None:
        pass


TRANSPARENT: Rules = _Transparent()


class Careful:
    """Rules whose failure costs nobody a session: the frame passes as it is, and it is told.

    Kernels and monitors may be somebody else's code.
    """

    def __init__(self, rules: Rules, warn: Callable[[str], None]) -> None:
        self._rules = rules
        self._warn = warn

    def from_client(self, frame: bytes) -> Passage:
        """Say what becomes of a frame from the client."""
        try:
            return self._rules.from_client(frame)
        except Exception as error:
            self._tell(error)
            return Passage(frame)

    def from_server(self, frame: bytes) -> bytes:
        """Return what the client gets in place of a frame from the server."""
        try:
            return self._rules.from_server(frame)
        except Exception as error:
            self._tell(error)
            return frame

    def unanswered(self, frame: bytes) -> None:
        """Take note that what a frame from the client asks will not be answered any more."""
        try:
            self._rules.unanswered(frame)
        except Exception as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        self._warn(f"A rule failed, the frame passed as it was: {type(error).__name__}: {error}")
