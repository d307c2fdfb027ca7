"""The error model of the package.

Three kinds of failure are kept apart everywhere:

* **What the agent did** (a malformed action, an unknown tool, a refused call) is data: an
  observation that the agent reads, never an exception.
* **What the user of this package did** (an unknown id, a broken file, a bad setting) raises
  :class:`UsageError`. Its text names the field, the bad value and the way out; the command line
  prints it and exits with code 2.
* **What the surroundings did** (a provider that is down, a crashed user simulator, a bug in the
  harness) raises :class:`InfrastructureError`. The episode is marked ``infra_error``: it is
  retried or masked, counted and shown, and never becomes a reward of 0.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable

__all__ = [
    "Bench2RobustError",
    "DataError",
    "InfrastructureError",
    "UnknownNameError",
    "UsageError",
    "nearest",
    "shown",
]


class Bench2RobustError(Exception):
    """Base of every error that this package raises on purpose."""


class UsageError(Bench2RobustError, ValueError):
    """A setting, argument or file of the caller is wrong; the text says how to mend it."""


class DataError(UsageError):
    """A data folder or record file is missing, partial or damaged."""


class InfrastructureError(Bench2RobustError, RuntimeError):
    """Something around the agent failed; never counted as a failure of the agent."""


class UnknownNameError(UsageError):
    """A name is not among the known ones; the text lists the nearest."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        close = nearest(name, names) if isinstance(name, str) else []
        hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
        listed = ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
        super().__init__(f"Unknown {what} {shown(name)}. {hint}Known: {listed or 'none'}.")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the ``known`` names most like ``name``, best first."""
    by_lower = {k.lower(): k for k in known}
    matches = difflib.get_close_matches(name[:200].lower(), by_lower, n=3, cutoff=0.5)
    return [by_lower[m] for m in matches]


def shown(value: object) -> str:
    """Return a value as an error text shows it: its ``repr`` in at most 200 characters.

    Never builds the whole ``repr``, which nested or very long input could make endless.
    """
    text = _BRIEF.repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


_SHOWN = 200


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = _SHOWN - 20

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write out the digits of a very long number.
        return repr(x) if x.bit_length() <= 256 else f"<a number of {x.bit_length()} bits>"


_BRIEF = _Brief()
