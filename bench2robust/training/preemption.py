"""How a scheduler ends a run early: the request, the exit code, and what lies between.

A request comes as SIGTERM, or as a file: the launchers of several ranks (``torchrun``,
``accelerate``) pass a signal on and kill their ranks half a minute later, which is less than an
iteration and a checkpoint take, so job scripts write the file instead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bench2robust.core.errors import Bench2RobustError

__all__ = ["REQUEUE", "STOP_FILE", "PreemptedError", "StopRequest", "stop_requests"]

REQUEUE = 75
"""Exit code of a run that was told to end, has kept a checkpoint, and can go on from it later
(``EX_TEMPFAIL``: try again)."""

STOP_FILE = "BENCH2ROBUST_STOP_FILE"
"""The environment variable that names the file."""


class PreemptedError(Bench2RobustError):
    """The run was told to end before it was done; its checkpoint is kept."""


class StopRequest:
    """Says whether the run was told to end. Ask between iterations, and let all ranks agree."""

    def __init__(self) -> None:
        self.signalled = False
        named = os.environ.get(STOP_FILE)
        self._file = Path(named) if named else None

    def __bool__(self) -> bool:
        return self.signalled or (self._file is not None and self._file.exists())

    def note(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        self.signalled = True


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Watch for requests to end; the former handling of SIGTERM comes back afterwards.

    A signal goes on to whoever watched before, such as a study around its runs.
    """
    request = StopRequest()
    before = signal.signal(signal.SIGTERM, request.note)
    try:
        yield request
    finally:
        signal.signal(signal.SIGTERM, before)
        if request.signalled and callable(before):
            before(signal.SIGTERM, None)
