"""A stream of keyed choices: what the generator draws for one thing, such as one task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bench2robust.core.keyed import digest

__all__ = ["Draws"]

T = TypeVar("T")
_HEX = 128
"""Hexadecimal digits of one block (64 bytes); a draw takes eight, so a block serves 16."""


class Draws:
    """Choices that depend on the key and on how many were drawn before, and on nothing else."""

    __slots__ = ("_at", "_block", "_key", "_text")

    def __init__(self, *key: str | int) -> None:
        self._key = key
        self._block = 0
        self._at = _HEX
        self._text = ""

    def below(self, limit: int) -> int:
        """Return one of 0 … ``limit`` - 1."""
        if self._at == _HEX:
            self._text = digest(*self._key, self._block, size=_HEX // 2)
            self._block += 1
            self._at = 0
        self._at += 8
        return int(self._text[self._at - 8 : self._at], 16) * limit >> 32

    def chance(self, percent: int) -> bool:
        """Return True ``percent`` times in a hundred."""
        return self.below(100) < percent

    def pick(self, options: Sequence[T]) -> T:
        """Return one of ``options``, which must not be empty."""
        return options[self.below(len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different members of ``options``, in drawn order."""
        pool = list(options)
        for index in range(count):
            other = index + self.below(len(pool) - index)
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]

    def digits(self, count: int) -> str:
        """Return a number of ``count`` digits; the first is not 0."""
        least = 10 ** (count - 1)
        return str(least + self.below(9 * least))

    def fresh(self, prefix: str, count: int, taken: set[str]) -> str:
        """Return ``prefix`` and ``count`` digits, not in ``taken``, and put it there."""
        while (made := prefix + self.digits(count)) in taken:
            pass
        taken.add(made)
        return made
