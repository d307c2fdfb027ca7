"""How texts for people say an amount."""

from __future__ import annotations

__all__ = ["quantity"]


def quantity(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an ``s`` unless there is one: ``1,024 tasks``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
