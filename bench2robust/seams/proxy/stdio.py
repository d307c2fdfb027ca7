"""The relay over standard input and output: one JSON-RPC message a line.

Two threads carry bytes, one each way. Plain blocking reads and writes work with pipes, files and
terminals alike, cost less than an event loop, and make a slow reader slow the writer down, so that
a flood never piles up in memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from signal import SIGINT, SIGTERM, Signals, signal
from threading import Event, Lock, Thread
from time import monotonic, sleep
from types import FrameType
from typing import IO

from bench2robust.core.errors import UsageError
from bench2robust.seams.proxy.passage import Rules
from bench2robust.seams.proxy.splitting import LINE, Piece, Splitter

__all__ = ["StdioRelay"]

CHUNK = 2**18
GRACE = 10.0
"""Seconds that a server has to end by itself once its client hung up and has read what it said."""
_STOPPING = 1.0
"""Seconds that it has if this process is asked to stop."""
_POLL = 0.02
_KILLED = 128


class StdioRelay:
    """Stands between a client, on this process's own streams, and a server that it starts.

    Args:
        command: the server's command and arguments.
        rules: may change frames.
        grace: seconds until a server that does not end with its client is ended.
        warn: is told what a user should know.
    """

    def __init__(
        self,
        command: Sequence[str],
        rules: Rules,
        grace: float = GRACE,
        warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        self._command = list(command)
        self._rules = rules
        self._grace = grace
        self._warn = warn
        self._deciding = Lock()
        self._to_client = _Writer(open(1, "wb", buffering=0, closefd=False))  # noqa: SIM115
        self._over = Event()
        self._asked_to_stop = False
        self._deadline = inf
        self._heard = 0.0
        self._child: subprocess.Popen[bytes]

    def run(self) -> int:
        """Relay until either side is gone.

        Returns:
            The server's exit code; 128 and the signal's number if a signal ended it.

        Raises:
            UsageError: the command cannot be started.
        """
        self._child = self._start()
        with _signals(self._stop):
            down = Thread(target=self._guarded, args=(self._down,), daemon=True)
            up = Thread(target=self._guarded, args=(self._up,), daemon=True)
            down.start()
            up.start()
            self._over.wait()
            code = self._end(down)
        return code

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"Cannot start the server {self._command[0]!r}: {reason}.") from None

    def _guarded(self, carry: Callable[[], None]) -> None:
        try:
            carry()
        except (OSError, ValueError):  # whoever should have read is gone, or its pipe closed
            pass
        finally:
            self._over.set()

    def _up(self) -> None:
        """Carry frames from the client to the server."""
        to_server = _Writer(self._child.stdin)
        for piece in _pieces(0):
            if not piece.whole:
                to_server.write(piece)
                continue
            with self._deciding:
                onward, back = self._rules.from_client(piece.data)
            if back is not None:
                self._to_client.write(Piece(back, True, True))
            if onward is not None:
                to_server.write(Piece(onward, True, True))

    def _down(self) -> None:
        """Carry frames from the server to the client."""
        assert self._child.stdout is not None
        with self._child.stdout as source:  # closed, it stops a server that nobody hears
            for piece in _pieces(source.fileno()):
                if piece.whole:
                    with self._deciding:
                        piece = piece._replace(data=self._rules.from_server(piece.data))
                self._heard = inf  # a slow reader's time is not the server's
                try:
                    self._to_client.write(piece)
                finally:
                    self._heard = monotonic()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Hand a signal on; whoever sent it may kill this process soon."""
        self._asked_to_stop = True
        self._deadline = monotonic() + min(self._grace, _STOPPING)
        self._child.terminate()
        self._over.set()

    def _end(self, down: Thread) -> int:
        """Let the server end, with its last words relayed; make it end if it does not."""
        child = self._child
        assert child.stdin is not None
        with suppress(OSError):
            child.stdin.close()
        start = monotonic()
        while child.poll() is None and monotonic() < self._last_moment(start):
            sleep(_POLL)
        patient = child.poll() is not None  # its last words wait for a slow reader, as in a pipe
        if not patient:
            self._warn("The server did not end by itself: it is ended.")
            child.kill()
            child.wait()
        while down.is_alive() and (
            (patient and not self._asked_to_stop) or monotonic() < self._last_moment(start)
        ):
            down.join(_POLL)
        return self._code(child.returncode)

    def _last_moment(self, start: float) -> float:
        """Return when a server that has had since ``start`` to end is ended."""
        return min(self._deadline, max(start, self._heard) + self._grace)

    def _code(self, code: int) -> int:
        if code >= 0:
            return code
        if not self._asked_to_stop:
            self._warn(f"The server was ended by {Signals(-code).name}.")
        return _KILLED - code


class _Writer:
    """Writes frames to an unbuffered file, one at a time, whoever they come from."""

    def __init__(self, file: IO[bytes] | None) -> None:
        assert file is not None
        self._file = file
        self._turn = Lock()

    def write(self, piece: Piece) -> None:
        if piece.first:
            self._turn.acquire()
        try:
            left = memoryview(piece.data)
            while left:
                left = left[self._file.write(left) :]
        finally:
            if piece.last:
                self._turn.release()


def _pieces(descriptor: int) -> Iterator[Piece]:
    splitter = Splitter(LINE)
    while chunk := os.read(descriptor, CHUNK):
        yield from splitter.feed(chunk)
    yield from splitter.rest()


@contextmanager
def _signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal(number, handler) for number in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal(number, old)
