"""Private copies of a database: made when an episode first writes, and only of what it touches.

The tables of τ²-bench's airline hold 9,000 dated flights. A deep copy for each episode takes 350
milliseconds and 25 MB, so a table is an overlay on the shared one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel

__all__ = ["ListOverlay", "Overlay", "Phase", "private", "private_database"]

_PLAIN = frozenset({str, int, float, bool, type(None), date, datetime})


class Phase:
    """Whether a tool that may change records is running."""

    __slots__ = ("writing",)

    def __init__(self) -> None:
        self.writing = False


class Overlay(MutableMapping[str, Any]):
    """A table over a shared one that is never changed.

    While a writing tool runs, a record that is asked for is copied first, for tools change records
    in place; a tool that only reads gets the shared record.

    Attributes:
        own: the records of this episode alone.
    """

    __slots__ = ("_base", "_lazy", "_phase", "own")

    def __init__(self, base: Mapping[str, Any], phase: Phase, lazy: str = "") -> None:
        self._base = base
        self._phase = phase
        self._lazy = lazy
        self.own: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        own = self.own
        if key in own:
            return own[key]
        record = self._base[key]
        if self._phase.writing:
            record = own[key] = self._copy(record)
        return record

    def _copy(self, record: Any) -> Any:
        if not self._lazy:
            return private(record)
        inner = Overlay(getattr(record, self._lazy), self._phase)
        return _with(record, {**record.__dict__, self._lazy: inner})

    def __setitem__(self, key: str, record: Any) -> None:
        self.own[key] = record

    def __delitem__(self, key: str) -> None:
        raise TypeError("no tool of τ²-bench deletes a record")

    def __contains__(self, key: object) -> bool:
        return key in self.own or key in self._base

    def __iter__(self) -> Iterator[str]:
        yield from self._base
        yield from (key for key in self.own if key not in self._base)

    def __len__(self) -> int:
        return len(self._base) + sum(key not in self._base for key in self.own)

    def values(self) -> Collection[Any]:  # type: ignore[override]
        """Return the records, for a writing tool all as copies."""
        own, base = self.own, self._base
        if self._phase.writing:
            return [self[key] for key in self]
        if not own:
            return base.values()
        return [own.get(key, record) for key, record in base.items()] + [
            record for key, record in own.items() if key not in base
        ]


class ListOverlay(Sequence[Any]):
    """A table that is a list, over a shared one; otherwise as :class:`Overlay`.

    Attributes:
        own: the records of this episode alone, by position; new ones come last.
    """

    __slots__ = ("_items", "_phase", "own")

    def __init__(self, base: Sequence[Any], phase: Phase) -> None:
        self._items = list(base)
        self._phase = phase
        self.own: dict[int, Any] = {}

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        key = range(len(self._items))[place]
        if self._phase.writing and key not in self.own:
            self.own[key] = self._items[key] = private(self._items[key])
        return self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return self._copies() if self._phase.writing else iter(self._items)

    def _copies(self) -> Iterator[Any]:
        own, items = self.own, self._items
        for key, record in enumerate(items):
            if key not in own:
                record = own[key] = items[key] = private(record)
            yield record

    def append(self, record: Any) -> None:
        """Add a record at the end."""
        self.own[len(self._items)] = record
        self._items.append(record)


def private(value: Any) -> Any:
    """Return a deep copy of plain data and of models; ten times as fast as ``deepcopy``."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return _fields(value)
    if kind is list:
        return [item if type(item) in _PLAIN else private(item) for item in value]
    if isinstance(value, BaseModel):
        return _with(value, _fields(value.__dict__))
    return value  # enumerations and tuples of plain values: nothing that can be changed


def _fields(items: dict[str, Any]) -> dict[str, Any]:
    # Most fields are plain, and a call for each would take most of the time.
    return {name: item if type(item) in _PLAIN else private(item) for name, item in items.items()}


def _with(model: BaseModel, fields: dict[str, Any]) -> BaseModel:
    """Return a model of the same class with other fields, unchecked."""
    made = _new(type(model))
    extra, hidden = model.__pydantic_extra__, model.__pydantic_private__
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", model.__pydantic_fields_set__.copy())
    _set(made, "__pydantic_extra__", extra and private(extra))
    _set(made, "__pydantic_private__", hidden and private(hidden))
    return made


_new, _set = object.__new__, object.__setattr__


def private_database(database: Any, phase: Phase, lazy: Mapping[str, str]) -> Any:
    """Return a database that can be changed without changing ``database``.

    Args:
        lazy: for a table with big records, their field that is itself a table.
    """
    parts = database.__dict__.items()
    return _with(database, {name: _overlay(v, phase, lazy.get(name, "")) for name, v in parts})


def _overlay(value: Any, phase: Phase, lazy: str) -> Any:
    if isinstance(value, dict):
        return Overlay(value, phase, lazy)
    return ListOverlay(value, phase) if isinstance(value, list) else private(value)
