"""One line on stderr that says what a proxy has done so far."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from time import monotonic
from typing import TextIO

from bench2robust.injectors.events import BLOCKED
from bench2robust.seams.passage import Delivery

__all__ = ["Status"]

_CLEAR = "\r\x1b[2K"
_DRAW_SECONDS = 0.1
_LINE_SECONDS = 30.0


class Status:
    """Counts calls, and keeps a line up to date on a terminal; elsewhere it writes a line at times.

    Args:
        quiet: write nothing but warnings.
    """

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._live = self._stream.isatty()
        self._quiet = quiet
        self._due = monotonic() + (_DRAW_SECONDS if self._live else _LINE_SECONDS)
        self._told = self._calls = self._receipts = self._blocked = 0
        self._faults: Counter[str] = Counter()

    def add(self, delivery: Delivery) -> None:
        """Count a call that is over."""
        self._calls += 1
        self._receipts += delivery.receipt is not None
        event = delivery.event
        if event is not None and event.planned == BLOCKED:
            self._blocked += 1
        elif event is not None and event.delivered is not None:
            self._faults[event.delivered] += 1
        if monotonic() >= self._due:
            self.show()

    def show(self) -> None:
        """Write the line, if it says anything new."""
        self._due = monotonic() + (_DRAW_SECONDS if self._live else _LINE_SECONDS)
        if self._quiet or self._told == self._calls:
            return
        self._told = self._calls
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{_CLEAR}{self.text()[:width]}")
        else:
            self._write(f"{self.text()}\n")

    def close(self) -> None:
        """Write the line for the last time."""
        self.show()
        if self._live and self._calls and not self._quiet:
            self._write("\n")

    def warn(self, text: str) -> None:
        """Write a line of its own."""
        self._write(f"{_CLEAR if self._live else ''}bench2robust proxy: {text}\n")
        self._told = -1 if self._live else self._told

    def text(self) -> str:
        """Return the line."""
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self._faults.items()))
        parts = [
            _counted(self._calls, "call"),
            _counted(self._faults.total(), "fault") + (f" ({kinds})" if kinds else ""),
            f"{self._blocked:,} blocked",
            _counted(self._receipts, "receipt"),
        ]
        return f"bench2robust proxy: {' · '.join(parts)}"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody reads it
            self._quiet = True


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
