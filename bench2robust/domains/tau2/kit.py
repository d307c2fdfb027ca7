"""What is particular to one domain of τ²-bench; everything else is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import ResultFields, ToolCall, ToolSpec, UserScript
from bench2robust.domains.tau2.package import Package
from bench2robust.domains.tau2.session import Run, Settle

__all__ = ["Alternative", "Kit", "Opened", "Probes"]

Probes = Callable[[str, frozenset[str]], Iterator[ToolCall]]
"""See :meth:`bench2robust.core.domain.Domain.probes`."""


class Alternative(NamedTuple):
    """A tool of ours that τ²-bench does not have."""

    spec: ToolSpec
    run: Run


class Opened(NamedTuple):
    """A domain's files, read.

    Attributes:
        databases: the agent's database, and the user's or None, as models of τ²-bench.
        raw: the agent's database as it stands in the file.
        policy: the policy text.
        digest: identifies the databases.
    """

    databases: tuple[Any, Any]
    raw: Mapping[str, Any]
    policy: str
    digest: str


@dataclass(frozen=True, slots=True)
class Kit:
    """One domain of τ²-bench.

    Attributes:
        name: our name of the domain.
        folder: τ²-bench's name of it.
        open: reads the domain's files from a folder.
        build: makes τ²-bench's environment from the agent's and the user's database.
        probes: makes the domain's probes from its files.
        classes: the fallback-equivalence classes.
        fields: the decision-critical result fields, by tool.
        alternatives: makes the tools of ours from the files.
        replaced: tools of τ²-bench that run as ours, by name.
        lazy: tables with big records, and the field of those that is a table itself.
        settle: see :data:`~bench2robust.domains.tau2.session.Settle`.
        script: what a user of a task can say, from what the task's words are.
        hear: which of their own tools a user uses on hearing something; None without such tools.
    """

    name: str
    folder: str
    open: Callable[[Package, Any], Opened]
    build: Callable[[Package, Any, Any], Any]
    probes: Callable[[Opened], Probes]
    classes: tuple[FallbackClass, ...]
    fields: Mapping[str, ResultFields]
    alternatives: Callable[[Opened], Sequence[Alternative]]
    replaced: Mapping[str, Run] = field(default_factory=dict)
    lazy: Mapping[str, str] = field(default_factory=dict)
    settle: Settle | None = None
    script: Callable[[UserScript], UserScript] = lambda script: script
    hear: Callable[[str, Any], Sequence[ToolCall]] | None = None
