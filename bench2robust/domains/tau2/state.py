"""The state of an episode: τ²-bench's own live environment, over a start that all share.

Until an episode first writes it has nothing of its own: reads run on the shared start, and their
results are kept for every episode of the task. The first write makes the private environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from bench2robust.core.types import ToolResult
from bench2robust.domains.tau2.copies import ListOverlay, Overlay, Phase, private_database

__all__ = ["Live", "Start", "records"]

Build = Callable[[Any, Any], Any]
"""From the agent's and the user's database (or None) to τ²-bench's environment."""


class Start:
    """What every episode of some tasks starts from; never changed.

    Attributes:
        environment: τ²-bench's environment at the start.
        lazy: see :func:`~bench2robust.domains.tau2.copies.private_database`.
        kept: results of reads at the start, by tool and arguments.
        texts: of records that some episode touched.
    """

    def __init__(self, environment: Any, build: Build, lazy: Mapping[str, str]) -> None:
        self.environment = environment
        self.lazy = lazy
        self.kept: dict[tuple[str, str], ToolResult] = {}
        self.texts: dict[str, str] = {}
        self._build = build

    def live(self) -> Live:
        """Return a private environment in this state."""
        phase = Phase()
        parts = [part and private_database(part, phase, self.lazy) for part in self.databases]
        return Live(self._build(*parts), phase)

    @property
    def databases(self) -> tuple[Any, Any]:
        """The agent's database, and the user's or None."""
        return databases(self.environment)


class Live(NamedTuple):
    """A private environment, and the switch that says when its records must be copied."""

    environment: Any
    phase: Phase

    def delta(self, start: Start) -> dict[str, str]:
        """Return the text of every record that differs from the start, by ``table/key``."""
        changed: dict[str, str] = {}
        for own, base in zip(databases(self.environment), start.databases, strict=True):
            if own is not None:
                changed.update(_differences(own, base, start.texts))
        return changed


def databases(environment: Any) -> tuple[Any, Any]:
    """Return the agent's database of an environment, and the user's or None."""
    user = environment.user_tools
    return environment.tools.db, None if user is None else user.db


def _differences(own: Any, base: Any, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in own.__dict__.items():
        before = getattr(base, name)
        if isinstance(value, (Overlay, ListOverlay)):
            yield from _table(name, value, before, texts)
        else:
            yield from _changed(name, value, before, texts)


def _table(
    name: str, table: Overlay | ListOverlay, before: Any, texts: dict[str, str]
) -> Iterator[tuple[str, str]]:
    for key, record in table.own.items():
        known = key < len(before) if isinstance(key, int) else key in before
        inner = _lazy(record)
        if inner:
            field, within = inner
            yield from _table(f"{name}/{key}", within, getattr(before[key], field), texts)
        elif known:
            yield from _changed(f"{name}/{key}", record, before[key], texts)
        else:
            yield f"{name}/{key}", _text(record)


def _lazy(record: Any) -> tuple[str, Overlay] | None:
    """Return the field of a record that is itself a table over a shared one."""
    fields = getattr(record, "__dict__", {}).items()
    return next(((name, value) for name, value in fields if isinstance(value, Overlay)), None)


def _changed(
    name: str, record: Any, before: Any, texts: dict[str, str]
) -> Iterator[tuple[str, str]]:
    old = texts.get(name)
    if old is None:
        old = texts[name] = _text(before)
    text = _text(record)
    if text != old:
        yield name, text


def records(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the records of one part of a database, each with its key."""
    if isinstance(value, (list, ListOverlay)):
        yield from ((f"{name}/{i}", item) for i, item in enumerate(value))
    elif isinstance(value, Mapping):
        yield from ((f"{name}/{key}", item) for key, item in value.items())
    else:
        yield name, value


def _text(record: Any) -> str:
    """Return a record's JSON text; its fields stand in the order of its class."""
    if isinstance(record, BaseModel):
        return record.__pydantic_serializer__.to_json(record, warnings=False).decode()
    return str(record)
