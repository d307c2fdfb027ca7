"""Short numbers in place of the ids of an episode.

A value gets its number when the agent first sees it. The number is drawn by the episode's key, so
it says nothing about the value, no policy can learn an id by heart, and a number that was never
shown names nothing in the store.
"""

from __future__ import annotations

from bench2robust.core.keyed import choose

__all__ = ["DIGITS", "Aliases"]

DIGITS = 3
"""How many digits a number has."""

_NUMBERS = [f"{number:0{DIGITS}d}" for number in range(10**DIGITS)]


class Aliases:
    """The numbers of one episode.

    Args:
        seed: the episode's seed.
        task_id: the episode's task.
    """

    def __init__(self, seed: int, task_id: str) -> None:
        self._key = (seed, task_id)
        self._numbers: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def number(self, value: str) -> str:
        """Return the number of a value that is shown, the same each time."""
        number, attempt = self._numbers.get(value, ""), 0
        while not number:
            drawn = choose(_NUMBERS, "alias", *self._key, value, attempt)
            attempt += 1
            if drawn not in self._values:
                number = self._numbers[value] = drawn
                self._values[drawn] = value
        return number

    def value(self, number: str) -> str | None:
        """Return the value that a number stands for; None if it was never shown."""
        return self._values.get(number)
