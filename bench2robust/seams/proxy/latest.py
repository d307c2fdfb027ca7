"""A dictionary that forgets: what nobody answers must not fill the memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

__all__ = ["MOST", "Latest"]

V = TypeVar("V")
MOST = 10_000


class Latest(OrderedDict[str, V]):
    """Keeps the latest entries.

    Args:
        forgotten: is told of each entry that is lost to make room.
        most: how many are kept.
    """

    def __init__(
        self, forgotten: Callable[[V], object] = lambda value: None, most: int = MOST
    ) -> None:
        super().__init__()
        self._forgotten = forgotten
        self._most = most

    def put(self, key: str, value: V) -> None:
        """Set an entry; it is the latest then."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self._forgotten(self.popitem(last=False)[1])
