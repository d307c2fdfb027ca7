"""A stream of bytes in pieces: whole frames, and parts of what is too long to be one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["EVENT", "LINE", "Piece", "Splitter"]

LINE = re.compile(rb"\n")
"""What ends a message on stdio."""
EVENT = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""What ends a server-sent event: an empty line, whichever way lines end."""
_OVERLAP = 3
"""An end may begin so many bytes before those that complete it."""
LONGEST = 64 * 2**20
"""Bytes of the longest frame that is held in memory; longer ones pass on as they come."""


class Piece(NamedTuple):
    """Bytes of one frame; all of it if it is both first and last."""

    data: bytes
    first: bool
    last: bool

    @property
    def whole(self) -> bool:
        """Whether this is a frame that can be looked at."""
        return self.first and self.last


class Splitter:
    """Finds the frames in a stream; what it yields, joined, is the stream.

    Args:
        end: what ends a frame; it belongs to the frame.
        longest: bytes up to which a frame is kept whole.
    """

    def __init__(self, end: re.Pattern[bytes], longest: int = LONGEST) -> None:
        self._end = end
        self._longest = longest
        self._held = bytearray()
        self._looked = 0
        self._cut = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Take the next bytes; yield the frames that they complete."""
        self._held += chunk
        start = 0
        for match in self._end.finditer(self._held, self._looked):
            yield self._piece(start, match.end(), True)
            start = match.end()
        if len(self._held) - start > self._longest:
            yield self._piece(start, len(self._held), False)
            start = len(self._held)
        del self._held[:start]
        self._looked = max(0, len(self._held) - _OVERLAP)

    def rest(self) -> Iterator[Piece]:
        """Yield what no end followed; call it when the stream is over."""
        if self._held or self._cut:
            yield self._piece(0, len(self._held), True)
            self._held.clear()

    def _piece(self, start: int, stop: int, last: bool) -> Piece:
        piece = Piece(bytes(self._held[start:stop]), not self._cut, last)
        self._cut = not last
        return piece
