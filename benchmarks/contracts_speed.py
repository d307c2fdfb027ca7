"""Speed of contracts: checking beside orjson and jsonschema-rs, mining beside genson.

    python benchmarks/contracts_speed.py

Every figure comes from rounds in which both sides take turns; see README.md beside this file.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import jsonschema_rs
import orjson
from genson import SchemaBuilder  # type: ignore[import-untyped]

from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.miner import FOLDS, Miner
from bench2robust.monitors.schema_export import to_json_schema

TOOL = "get_order"
BUDGETED = "nested order"
"""The sample on which budgets are kept; the others show how far they carry."""
CHECK_ROUNDS = 301
CHECK_SLICE = 50
MINE_ROUNDS = 9
REGISTRY_ROUNDS = 3
WORKFLOWS, CALLS, TOOLS = 400, 8, 40
Record = tuple[dict[str, Any], Any]


@dataclass(frozen=True)
class Sample:
    """Clean records of one tool: (arguments, result)."""

    name: str
    records: list[Record]

    @property
    def size(self) -> float:
        """Mean bytes of a result."""
        return sum(len(orjson.dumps(result)) for _, result in self.records) / len(self.records)


def address(draw: random.Random) -> dict[str, Any]:
    """Return a postal address."""
    city, state = draw.choice((("New York", "NY"), ("Chicago", "IL"), ("Denver", "CO")))
    return {
        "line1": f"{draw.randint(1, 999)} River Road",
        "line2": f"Suite {draw.randint(100, 999)}",
        "city": city,
        "state": state,
        "zip": str(draw.randint(10000, 99999)),
        "country": "USA",
    }


def item(draw: random.Random) -> dict[str, Any]:
    """Return a line of an order."""
    goods = ("Noise cancelling headphones", "Mechanical keyboard, 87 keys", "Trail running shoes")
    return {
        "item_id": f"{draw.getrandbits(64):016x}",
        "sku": f"SKU-{draw.randint(1000, 9999)}",
        "name": f"{draw.choice(goods)} {draw.randint(1, 99)}",
        "unit_price": round(draw.uniform(3, 400), 2),
        "quantity": draw.randint(1, 4),
        "in_stock": draw.random() < 0.8,
        "options": {"color": draw.choice(("black", "blue")), "size": draw.choice("SML")},
    }


def nested_order(number: int) -> Record:
    """Return an order of about 1.6 kB that keeps two relations (count, price by quantity)."""
    draw = random.Random(number)
    items = [item(draw) for _ in range(draw.randint(4, 6))]
    total = sum(line["unit_price"] * line["quantity"] for line in items)
    order = {
        "order_id": f"#W{draw.randint(10**6, 10**7)}",
        "created_at": f"2024-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}T10:30:00Z",
        "status": draw.choice(("pending", "processed", "delivered", "cancelled")),
        "currency": "USD",
        "customer": {"id": f"cus_{draw.getrandbits(48):012x}", "tier": draw.choice(("a", "b"))},
        "shipping_address": address(draw),
        "billing_address": address(draw),
        "items": items,
        "item_count": len(items),
        "total": total,
        "payment": {"method": draw.choice(("card", "voucher")), "amount": total},
        "note": draw.choice(("Leave the parcel with the neighbour.", "Gift wrapping requested.")),
    }
    return {"order_id": order["order_id"]}, order


def samples() -> Iterator[Sample]:
    """Yield what is measured: generated orders, and recorded data where they are."""
    yield Sample(BUDGETED, [nested_order(number) for number in range(1000)])
    root = os.environ.get("BENCH2ROBUST_DATA")
    if root is None:
        return
    orders = json.loads((Path(root) / "tau1/retail/orders.json").read_text("utf-8"))
    yield Sample("τ-bench order", [({"order_id": name}, row) for name, row in orders.items()])
    rows = map(json.loads, open(Path(root) / "organic/pokeapi.jsonl", encoding="utf-8"))  # noqa: SIM115
    moves = [(row["args"], row["response"]) for row in rows if "/move/" in row["tool"]]
    yield Sample("PokeAPI move", moves)


def mined(sample: Sample) -> Contract:
    """Return the contract of a sample."""
    miner = Miner()
    for number, (arguments, result) in enumerate(sample.records):
        miner.add(TOOL, arguments, result, str(number))
    return miner.finalise("strict")


def in_turns(
    sides: Sequence[Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> list[float]:
    """Return the median time of each side, over rounds in which they take turns."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            began = clock()
            side()
            taken.append(clock() - began)
    return [median(taken) for taken in times]


def check_speed(sample: Sample) -> list[float]:
    """Return seconds a result: our checker, orjson.loads, jsonschema-rs, and check from text."""
    contract = mined(sample)
    checker = Checker(contract)
    validator = jsonschema_rs.validator_for(to_json_schema(contract, TOOL))
    records = sample.records[:CHECK_SLICE]
    assert not any(checker.check_value(TOOL, *record) for record in records)
    assert all(validator.is_valid(result) for _, result in records)
    texts = [orjson.dumps(result) for _, result in records]

    def ours() -> None:
        check = checker.check_value
        for arguments, result in records:
            check(TOOL, arguments, result)

    def parse() -> None:
        loads = orjson.loads
        for text in texts:
            loads(text)

    def theirs() -> None:
        is_valid = validator.is_valid
        for _, result in records:
            is_valid(result)

    times = in_turns((ours, parse, theirs), CHECK_ROUNDS, perf_counter)
    return [t / len(records) for t in times]


def mine_speed(sample: Sample) -> list[float]:
    """Return seconds a record: our miner, genson."""

    def ours() -> None:
        mined_from(sample.records)

    def theirs() -> None:
        builder = SchemaBuilder()
        for _, result in sample.records:
            builder.add_object(result)

    times = in_turns((ours, theirs), MINE_ROUNDS, process_time)
    return [t / len(sample.records) for t in times]


def mined_from(records: Sequence[Record]) -> Miner:
    """Return a miner of records."""
    miner = Miner()
    for number, (arguments, result) in enumerate(records):
        miner.add(TOOL, arguments, result, str(number))
    return miner


def registries_speed() -> tuple[float, int, int]:
    """Return (seconds, records, invariants) of five registries from 400 workflows."""
    calls = [
        (
            f"tool {(flow * CALLS + call) % TOOLS}",
            *nested_order(flow * CALLS + call),
            f"flow {flow}",
        )
        for flow in range(WORKFLOWS)
        for call in range(CALLS)
    ]
    best, invariants = float("inf"), 0
    for _ in range(REGISTRY_ROUNDS):
        began = process_time()
        miner = Miner(FOLDS)
        for tool, arguments, result, task in calls:
            miner.add(tool, arguments, result, task)
        registries = miner.registries("paper")
        best = min(best, process_time() - began)
        invariants = sum(len(rows) for found in registries for rows in found.tools.values())
    return best, len(calls), invariants


def main() -> None:
    """Print the tables; exit with 1 if a budget is not kept."""
    gc.collect()
    print(f"load {os.getloadavg()[0]:.1f}, medians over rounds in which the sides take turns\n")
    kept = True
    print("| Checking a clean result | Bytes | Ours µs | orjson.loads µs | jsonschema-rs µs "
          "| × orjson (≤ 1.0) | × jsonschema-rs (≤ 3) |")  # fmt: skip
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for sample in samples():
        ours, parse, theirs = check_speed(sample)
        kept &= sample.name != BUDGETED or (ours <= parse and ours <= 3 * theirs)
        micros = " | ".join(f"{1e6 * t:.2f}" for t in (ours, parse, theirs))
        ratios = f"{ours / parse:.2f} | {ours / theirs:.2f}"
        print(f"| {sample.name} | {sample.size:.0f} | {micros} | {ratios} |", flush=True)
    print("\n| Mining | Records | Ours µs a record | genson µs | × genson (≤ 1.0) |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for sample in samples():
        ours, theirs = mine_speed(sample)
        kept &= sample.name != BUDGETED or ours <= theirs
        micros = f"{1e6 * ours:.1f} | {1e6 * theirs:.1f} | {ours / theirs:.2f}"
        print(f"| {sample.name} | {len(sample.records)} | {micros} |", flush=True)
    seconds, records, invariants = registries_speed()
    kept &= seconds < 2
    print(f"\nFive registries of {WORKFLOWS} workflows ({records:,} records of {TOOLS} tools, "
          f"{invariants:,} invariants): {seconds:.2f} s of CPU time (< 2).")  # fmt: skip
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
