"""When a warning is attached: the one thing in which the timing arms differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

__all__ = ["Always", "Matched", "Never", "OnViolation", "Trigger", "TriggerMaker"]


class Trigger(Protocol):
    """Decides, result by result, whether a warning is attached.

    Attributes:
        pending: warnings that are due and were not attached yet.
    """

    pending: int

    def fires(self, violated: bool, is_error: bool) -> bool:
        """Take note of a result, and say whether it gets a warning."""
        ...


TriggerMaker: TypeAlias = Callable[[], Trigger]


class Never:
    """No warning (baseline)."""

    pending = 0

    def fires(self, violated: bool, is_error: bool) -> bool:
        """Return False."""
        return False


class Always:
    """A warning on every result (always-warn)."""

    pending = 0

    def fires(self, violated: bool, is_error: bool) -> bool:
        """Return True."""
        return True


class OnViolation:
    """A warning on each result that breaks an invariant (advisory)."""

    pending = 0

    def fires(self, violated: bool, is_error: bool) -> bool:
        """Return whether the result breaks an invariant."""
        return violated


class Matched:
    """The matched-trigger placebo: as many warnings, each on the wrong result.

    A violation is forwarded raw and one warning is queued; each following consistent result gets
    one. What is still queued when the episode ends was never delivered.
    """

    def __init__(self) -> None:
        self.pending = 0

    def fires(self, violated: bool, is_error: bool) -> bool:
        """Queue a warning on a violation; attach a queued one to a consistent result."""
        if violated:
            self.pending += 1
        elif self.pending and not is_error:
            self.pending -= 1
            return True
        return False
