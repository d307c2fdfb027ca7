"""How long to wait before a request is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from bench2robust.core.keyed import uniform

__all__ = ["Patience", "retry_after"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long an endpoint is waited for.

    Attributes:
        attempts: most attempts for one request.
        timeout: seconds for one attempt, from sending to the last byte of the answer.
        first: seconds before the second attempt; doubled for each further one.
        longest: most seconds between two attempts, unless the server asks for more.
        asked: most seconds that a server may ask for; a longer Retry-After ends the request.
    """

    attempts: int = 10
    timeout: float = 120.0
    first: float = 0.5
    longest: float = 30.0
    asked: float = 300.0

    def wait(self, attempt: int, asked: float | None, *key: str | int) -> float:
        """Return the seconds to wait after ``attempt`` (from 1) failed.

        Exponential with jitter (between a half and the whole, by ``key``, so that requests that
        failed together do not come back together), and never less than what the server ``asked``.
        """
        grown = min(self.longest, self.first * 2.0 ** min(attempt - 1, 30))
        return (asked or 0.0) + grown * (0.5 + 0.5 * uniform("backoff", attempt, *key))


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it asks for nothing readable.

    Args:
        value: a number of seconds or an HTTP date.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            due = parsedate_to_datetime(value)
        except ValueError:
            return None
        due = due if due.tzinfo else due.replace(tzinfo=UTC)
        seconds = (due - (now or datetime.now(UTC))).total_seconds()
    return max(seconds, 0.0) if isfinite(seconds) else None
