"""What can be set at every seam, by the same names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from bench2robust.injectors.profile import FaultProfile
from bench2robust.monitors.loop_guard import LoopRule
from bench2robust.monitors.recovery import Substitutes
from bench2robust.seams.watch import ContractSource

__all__ = ["FaultSource", "SeamOptions"]

FaultSource: TypeAlias = str | Path | Mapping[str, Any] | FaultProfile
"""A fault plan: the name of a profile or of a fault type, a YAML file, a mapping, or a profile."""


class SeamOptions(TypedDict, total=False):
    """What a seam does; every option may be left out.

    Attributes:
        faults: a fault plan: a name, a YAML file, a mapping or a profile; by default ``none``.
        seed: the seed of every draw.
        task: the name that, with the seed, is the key of every draw.
        blocked: tools that never answer.
        contract: what results have to keep: a contract file, a contract, or ``declared`` for what
            the tools' output schemas say; by default nothing is checked.
        arm: what the monitor does about a result that breaks it, one of ``ARMS``.
        substitutes: tool to the tools that receipts may name as a way out.
        loop: when repeated calls get a word about it; by default never.
        cap: how many calls may be made at all; by default any number.
        record: a file that the episode is appended to when the seam is closed.
        redact: fields and patterns that a record may not hold, besides the usual secrets (see
            :class:`~bench2robust.seams.redact.Redaction`).
        replay: a record file whose last episode's faults are repeated; ``faults``, ``seed``,
            ``task`` and ``blocked`` are then those of the episode.
        clock: seconds since the start, for scheduled windows; by default simulated ones.
    """

    faults: FaultSource
    seed: int
    task: str
    blocked: Collection[str]
    contract: ContractSource | None
    arm: str
    substitutes: Substitutes
    loop: LoopRule | None
    cap: int | None
    record: str | Path | None
    redact: Sequence[str]
    replay: str | Path | None
    clock: Callable[[], float] | None
