"""What the extension classes of contracts catch and how often they are wrong, on real data.

    BENCH2ROBUST_DATA=... python benchmarks/contracts_extensions.py

Registries are mined in five folds by task; each record is checked by the registry that has not
seen it, clean (false positives) and with a fault of the class at the first place that the registry
says something of (detection).
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.evaluation.statistics.proportions import clopper_pearson
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.miner import FOLDS, Miner, fold_of
from bench2robust.monitors.pointers import occurrences, split, unescape

PROFILE = "strict"
ERROR_PAGE = "<!DOCTYPE html><html><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1></html>"


class Record(NamedTuple):
    """A call, its clean result, and the task that it belongs to."""

    tool: str
    arguments: dict[str, Any]
    result: Any
    task: str


class Figure(NamedTuple):
    """What one class does on one corpus.

    Attributes:
        invariants: how many a registry has, on average.
        false: clean held-out records on which it fires.
        clean: all clean held-out records.
        caught: faulted records on which it fires.
        faulted: records to which the fault of the class could be done.
    """

    code: str
    corpus: str
    invariants: float
    false: int
    clean: int
    caught: int
    faulted: int


def scaled(value: Any, _: Invariant) -> Any:
    """A unit mistaken: a thousand times the number."""
    return value * 1000 + 1000 if type(value) in (int, float) else None


def negated(value: Any, _: Invariant) -> Any:
    """A sign lost."""
    return -abs(value) - 1 if type(value) in (int, float) else None


def emptied(value: Any, _: Invariant) -> Any:
    """A page of results that did not come."""
    return [] if value else None


def misreferred(value: Any, _: Invariant) -> Any:
    """A resolver that took another thing: each digit of the last three is shifted."""
    tail = "".join(str((int(c) + 3) % 10) if c.isdigit() else c for c in value[-3:])
    return value[:-3] + tail if tail != value[-3:] else None


def placeholder(value: Any, _: Invariant) -> Any:
    """A field that a template left open."""
    return "{{ value }}" if type(value) is str else None


def error_page(value: Any, _: Invariant) -> Any:
    """An error page in place of a text."""
    return ERROR_PAGE if type(value) is str else None


def cut(value: Any, _: Invariant) -> Any:
    """A text cut at three fifths of its length."""
    return value[: len(value) * 3 // 5] if len(value) >= 48 else None


def swapped(value: Any, invariant: Invariant) -> Any:
    """Two dates exchanged."""
    first, second = (unescape(invariant.params[name]) for name in ("first", "second"))
    if None in (value.get(first), value.get(second)) or value[first] == value[second]:
        return None
    return {**value, first: value[second], second: value[first]}


FAULTS: dict[str, Callable[[Any, Invariant], Any]] = {
    "learned_range": scaled,
    "negative_value": negated,
    "learned_cardinality": emptied,
    "referential_missing": misreferred,
    "date_order_broken": swapped,
    "learned_format_mismatch": placeholder,
    "content_error_signature": error_page,
    "length_truncated": cut,
}


def corpora(root: Path) -> Iterator[tuple[str, list[Record]]]:
    """Yield (name, records) of the public data."""
    orders = json.loads((root / "tau1/retail/orders.json").read_text("utf-8"))
    yield "τ-bench orders", [Record("order", {"id": k}, v, k) for k, v in orders.items()]
    airline = json.loads((root / "tau2/airline/db.json").read_text("utf-8"))
    for name in ("flights", "reservations"):
        rows = airline[name].items()
        yield f"τ²-bench {name}", [Record(name, {"id": k}, v, k) for k, v in rows]
    for name in ("aws", "pokeapi"):
        lines = (root / "organic" / f"{name}.jsonl").read_text("utf-8").splitlines()
        parsed = map(json.loads, lines)
        yield name, [Record(r["tool"], r["args"], r["response"], r["group"]) for r in parsed]


def figures(name: str, records: list[Record]) -> Iterator[Figure]:
    """Yield what every class does on a corpus."""
    miner = Miner(FOLDS, tuple(FAULTS))
    for record in records:
        miner.add(record.tool, record.arguments, record.result, record.task)
    registries = miner.registries(PROFILE)
    for code, fault in FAULTS.items():
        contracts = [registry.only((code,)) for registry in registries]
        yield figure(code, name, records, contracts, fault)


def figure(
    code: str,
    name: str,
    records: list[Record],
    contracts: list[Contract],
    fault: Callable[[Any, Invariant], Any],
) -> Figure:
    """Return what one class does."""
    checkers = [Checker(contract) for contract in contracts]
    false = caught = faulted = 0
    for record in records:
        fold = fold_of(record.task)
        checker, known = checkers[fold], contracts[fold].tools[record.tool]
        false += bool(checker.check_value(record.tool, record.arguments, record.result))
        broken = spoiled(record.result, known, fault)
        if broken is not None:
            faulted += 1
            caught += bool(checker.check_value(record.tool, record.arguments, broken))
    count = sum(len(rows) for contract in contracts for rows in contract.tools.values())
    return Figure(code, name, count / len(contracts), false, len(records), caught, faulted)


def spoiled(
    result: Any, invariants: tuple[Invariant, ...], fault: Callable[[Any, Invariant], Any]
) -> Any:
    """Return a result with the fault at the first place that allows it, or None."""
    for invariant in invariants:
        for place, value in occurrences(result, split(invariant.path)):
            new = fault(value, invariant)
            if new is not None:
                return replaced(result, place, new)
    return None


def replaced(result: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of a result with another value at a place."""
    if not place:
        return new
    broken = copy.deepcopy(result)
    held = broken
    for step in place[:-1]:
        held = held[step]
    held[place[-1]] = new
    return broken


def main() -> None:
    """Print the table."""
    root = os.environ.get("BENCH2ROBUST_DATA")
    if root is None:
        sys.exit("BENCH2ROBUST_DATA must name the folder with the public data.")
    print("| Class | Corpus | Invariants | False positives | 95 % | Detected | 95 % |")
    print("| --- | --- | ---: | ---: | --- | ---: | --- |")
    found = [row for name, records in corpora(Path(root)) for row in figures(name, records)]
    for code in FAULTS:
        for row in (row for row in found if row.code == code and row.invariants):
            print(f"| {code} | {row.corpus} | {row.invariants:.1f} | {share(row.false, row.clean)} "
                  f"| {share(row.caught, row.faulted)} |")  # fmt: skip


def share(hits: int, total: int) -> str:
    """Return a share and its exact interval as two cells."""
    if not total:
        return "none | "
    low, high = clopper_pearson(hits, total)
    return f"{hits:,}/{total:,} ({100 * hits / total:.2f} %) | {100 * low:.2f} to {100 * high:.2f}"


if __name__ == "__main__":
    main()
