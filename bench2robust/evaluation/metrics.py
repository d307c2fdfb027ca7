"""Figures over episode records: pure functions, nothing but counting.

A record is scored if its status is ``ok`` and its task needs no judge. Tasks flagged
``needs_judge`` (part of their own benchmark's verdict is a language model's) are reported apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bench2robust.core.faults import FAULT_TYPES
from bench2robust.evaluation.record import EpisodeRecord, FaultRow
from bench2robust.evaluation.statistics import pass_hat_k
from bench2robust.injectors.events import BLOCKED

__all__ = [
    "Gap",
    "LedgerRow",
    "Rate",
    "Spread",
    "Strategy",
    "abstention",
    "adoption",
    "broken",
    "cell_of",
    "cells",
    "exercised",
    "gap",
    "group",
    "judged",
    "ledger",
    "mean",
    "over_seeds",
    "pass_by_error_type",
    "pass_hat",
    "passed",
    "premature",
    "rate",
    "realized_clean",
    "scored",
    "strategy",
    "totals",
]

JUDGE = "needs_judge"
K = TypeVar("K")
Records: TypeAlias = Sequence[EpisodeRecord]


class Rate(NamedTuple):
    """``hits`` of ``total``; the share is NaN where nothing was counted."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """Hits divided by total."""
        return self.hits / self.total if self.total else float("nan")


class Spread(NamedTuple):
    """Mean of per-seed shares, and their sample standard deviation (NaN for one seed)."""

    mean: float
    std: float
    seeds: int


def scored(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Return the records that count towards pass rates."""
    return [r for r in records if r["status"] == "ok" and JUDGE not in r["flags"]]


def judged(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Return the played records whose task needs a judge; their pass rate is an upper bound."""
    return [r for r in records if r["status"] == "ok" and JUDGE in r["flags"]]


def group(
    records: Iterable[EpisodeRecord], key: Callable[[EpisodeRecord], K]
) -> dict[K, list[EpisodeRecord]]:
    """Return records by ``key``, in the order of first appearance."""
    groups: defaultdict[K, list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return dict(groups)


def rate(records: Records, hit: Callable[[EpisodeRecord], bool] = lambda r: r["success"]) -> Rate:
    """Return how many records are hits; passes by default."""
    return Rate(sum(map(hit, records)), len(records))


def over_seeds(records: Records) -> Spread:
    """Return the pass rate as mean ± sample standard deviation over seeds (table 1)."""
    shares = [rate(of_seed).share for of_seed in group(records, lambda r: r["seed"]).values()]
    if not shares:
        return Spread(float("nan"), float("nan"), 0)
    std = float(np.std(shares, ddof=1)) if len(shares) > 1 else float("nan")
    return Spread(float(np.mean(shares)), std, len(shares))


def pass_hat(records: Records) -> dict[int, float]:
    """Return pass^k by k: the chance that ``k`` different seeds of a task all pass.

    Tasks with fewer than ``k`` scored seeds do not count for that ``k``.
    """
    counts = [rate(of_task) for of_task in group(records, lambda r: r["task"]).values()]
    most = max((n for _, n in counts), default=0)
    return {k: pass_hat_k([c for c in counts if c.total >= k], k) for k in range(1, most + 1)}


def mean(records: Records, field: Literal["steps", "tokens", "reward", "sim_seconds"]) -> float:
    """Return the mean of a numeric field; NaN where no record has it."""
    values = [value for r in records if (value := r[field]) is not None]
    return float(np.mean(values)) if values else float("nan")


class Gap(NamedTuple):
    """Mean difference in passes (faulted minus clean) over the ``cells`` that both modes scored."""

    mean: float
    cells: int


def gap(clean: Records, faulted: Records) -> Gap:
    """Return the robustness gap of one agent (appendix A), paired by (task, seed).

    Cells that one of the modes left out, such as tasks without the scenario, distort neither side.
    """
    before = {cell_of(r): r["success"] for r in clean}
    shared = [r for r in faulted if cell_of(r) in before]
    differences = [r["success"] - before[cell_of(r)] for r in shared]
    return Gap(float(np.mean(differences)) if shared else float("nan"), len(shared))


def passed(record: EpisodeRecord) -> bool:
    """Say whether an episode passed: by abstaining correctly where success is impossible (S3)."""
    return record["abstained"] if record["scenario"] == "S3" else record["success"]


def cell_of(record: EpisodeRecord) -> tuple[str, int]:
    """Return the (task, seed) cell of a record."""
    return record["task"], record["seed"]


class Strategy(NamedTuple):
    """One row of table 2, for one way of telling S1 from S2.

    Attributes:
        success: pass rate by scenario, ``S1`` and ``S2``.
        unused: premature escalation, first sense: a transfer with a viable path left unused.
        transferred: second sense: any transfer on a solvable task. Keys ``S1``, ``S2``, ``total``.
    """

    success: Mapping[str, Rate]
    unused: Mapping[str, Rate]
    transferred: Mapping[str, Rate]


def strategy(records: Records, by: Literal["planned", "realized"]) -> Strategy:
    """Return success and premature escalation by planned or realized scenario.

    A transfer that the gold plan itself contains, or after which the task succeeded, is never
    premature. By ``planned``, S2 holds no episode in which only the alternative side was blocked:
    those ask for no switch. By ``realized``, episodes that met no fault are left out (section 5.2).
    """
    if by == "planned":
        records = [r for r in records if r["scenario"] != "S2" or r["side"] != "alternative"]
    groups = group(records, lambda r: r["scenario" if by == "planned" else "realized"])
    parts = {name: groups.get(name, []) for name in ("S1", "S2")}
    whole = {**parts, "total": parts["S1"] + parts["S2"]}
    return Strategy(
        {name: rate(part) for name, part in parts.items()},
        {name: rate(part, _path_unused) for name, part in whole.items()},
        {name: rate(part, premature) for name, part in whole.items()},
    )


def _path_unused(record: EpisodeRecord) -> bool:
    return record["viable_unused"] and premature(record)


def premature(record: EpisodeRecord) -> bool:
    """Say whether an episode ended in a transfer that its task did not want."""
    return record["transferred"] and not (record["gold_transfer"] or record["success"])


def pass_by_error_type(records: Records) -> dict[str, Rate]:
    """Return the pass rate by error type (table 4).

    An episode counts under each type that was delivered in it at least once.
    """
    met = [(r, {row["delivered"] for row in r["faults"]}) for r in records]
    kinds = _ordered({kind for _, kinds in met for kind in kinds if kind is not None})
    return {kind: rate([r for r, met_kinds in met if kind in met_kinds]) for kind in kinds}


def _ordered(kinds: set[str]) -> list[str]:
    """Return the nine types in the order of table 13, then kernels of other packages."""
    return [*FAULT_TYPES, *sorted(kinds - set(FAULT_TYPES))]


class LedgerRow(NamedTuple):
    """What became of the faults of one planned type.

    A planned fault that could not change the result is not eligible and was not delivered.
    """

    planned: int
    delivered: int
    seen: int
    reactions: Mapping[str, int]


def ledger(records: Records) -> dict[str, LedgerRow]:
    """Return the landed-fault ledger by planned type; blocked tools answer as ``blocked``."""
    rows: defaultdict[str, list[FaultRow]] = defaultdict(list)
    for record in records:
        for row in record["faults"]:
            rows[row["planned"]].append(row)
    return {kind: _ledger_row(rows[kind]) for kind in _ordered(set(rows)) if kind in rows}


def _ledger_row(rows: Sequence[FaultRow]) -> LedgerRow:
    landed = [row for row in rows if row["delivered"] is not None]
    seen = [row for row in landed if row["seen"]]
    return LedgerRow(len(rows), len(landed), len(seen), Counter(row["reaction"] for row in seen))


def exercised(records: Records) -> Rate:
    """Return in how many episodes at least one fault was delivered.

    An agent that never met a fault is not robust: the rest is the not-exercised share.
    """
    return rate(records, lambda r: any(row["delivered"] is not None for row in r["faults"]))


def realized_clean(records: Records) -> Rate:
    """Return how many calls of faultable tools that were not blocked came back clean.

    It differs from P(clean): the budget B and K_max spare calls, as do draws that are not eligible.
    """
    faulty = sum(
        row["delivered"] is not None and row["planned"] != BLOCKED
        for record in records
        for row in record["faults"]
    )
    calls = sum(record["faultable_calls"] for record in records)
    return Rate(calls - faulty, calls)


def adoption(records: Records) -> Rate:
    """Return how many seen silent faults with a new wrong value saw one used later.

    Emptied fields leave no value to use, and a value that is corrupted again counts once.
    """
    rows = [row for record in records for row in record["faults"] if row["wrong"] and row["seen"]]
    return Rate(sum(row["adopted"] > 0 for row in rows), len(rows))


def abstention(records: Records) -> Rate:
    """Return the share of correct abstentions among S3 episodes."""
    return rate([r for r in records if r["scenario"] == "S3"], lambda r: r["abstained"])


def totals(
    records: Records,
    field: Literal[
        "duplicate_attempts", "duplicate_effects", "looked_first", "rate_limit_violations"
    ],
) -> int:
    """Return the sum of a counting field."""
    return sum(r[field] for r in records)


def cells(records: Iterable[EpisodeRecord]) -> dict[tuple[str, str], Counter[tuple[str, str]]]:
    """Count the (task, seed) cells of each (mode, planned scenario) by (status, reason).

    Agents share cells, so each is counted once, as ``ok`` if any agent could play it.
    """
    seen: dict[tuple[str, str, str, int], tuple[str, str]] = {}
    for r in records:
        key = (r["mode"], r["scenario"] or "", r["task"], r["seed"])
        if r["status"] == "ok" or key not in seen:
            seen[key] = (r["status"], r["reason"])
    counts: defaultdict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for (mode, scenario, _, _), status in seen.items():
        counts[mode, scenario][status] += 1
    return dict(counts)


def broken(records: Iterable[EpisodeRecord]) -> Counter[str]:
    """Count by agent the episodes that failed for reasons outside the agent; never scored."""
    return Counter(r["agent"] for r in records if r["status"] == "infra_error")
