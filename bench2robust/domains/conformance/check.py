"""One clause being checked: it counts its checks and keeps what was broken."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Check"]

_MOST = 5
"""Breaches that are kept in words; the rest are counted."""


class Check:
    """Counts checks and breaches.

    Attributes:
        made: how many checks were made.
        broken: how many failed.
        breaches: the first of them, in words, each once.
    """

    def __init__(self) -> None:
        self.made = 0
        self.broken = 0
        self.breaches: list[str] = []

    def __call__(self, holds: object, words: str | Callable[[], str]) -> bool:
        """Note whether something holds; ``words`` say what is wrong if it does not."""
        self.made += 1
        if holds:
            return True
        self.broken += 1
        text = words if isinstance(words, str) else words()
        if len(self.breaches) < _MOST and text not in self.breaches:
            self.breaches.append(text)
        return False
