"""What checking one invariant yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Path
from bench2robust.monitors.violation import Violation

__all__ = ["Finding", "Rule"]


class Finding(NamedTuple):
    """A violation and where in the result it is."""

    place: Path
    violation: Violation


Rule: TypeAlias = Callable[[Mapping[str, Json], Json], Iterator[Finding]]
"""(arguments, result) -> what breaks one invariant, in document order."""
