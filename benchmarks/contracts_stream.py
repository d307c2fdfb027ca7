"""Mining a long trace file: peak memory must not grow with it, and processes must not matter.

Writes files of results of a small shop, mines each in a process of its own, and prints one table.

    python benchmarks/contracts_stream.py --lines 1000000
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import orjson

from bench2robust.core.keyed import choose
from bench2robust.evaluation.contracts.mining import mine
from bench2robust.evaluation.contracts.traces import Traces
from bench2robust.monitors.contract import save_contract

TOOLS = ("get_order", "find_order", "track_order")
PRICES = (1.5, 2.25, 9.0, 30.0)


def line(number: int) -> bytes:
    """Return one clean result, about 270 bytes."""
    prices = [choose(PRICES, "price", number, k) for k in range(1 + number % 3)]
    order = {
        "order_id": f"O{number}",
        "status": choose(("open", "paid", "sent"), "status", number),
        "user": {"id": f"u{number % 5000}", "mail": f"u{number % 5000}@example.org"},
        "items": [{"sku": f"s{number}-{k}", "price": p} for k, p in enumerate(prices)],
        "total": sum(prices),
        "note": None if number % 7 else "call first",
    }
    call = {"tool": TOOLS[number % 3], "args": {"id": f"O{number}"}}
    return orjson.dumps(call | {"response": order, "group": f"g{number // 3}"}) + b"\n"


def work(path: Path, out: Path, workers: int) -> None:
    """Mine a file and print what it took, as JSON."""
    began = perf_counter()
    contract = mine(Traces([path]), workers=workers).finalise("strict")
    save_contract(contract, out)
    own, children = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    cpu = process_time() + children.ru_utime + children.ru_stime
    peak = max(own.ru_maxrss, children.ru_maxrss) / 1024
    row = {"seconds": perf_counter() - began, "cpu": cpu, "peak": peak, "sha256": contract.sha256}
    sys.stdout.buffer.write(orjson.dumps(row))


def measure(path: Path, workers: int) -> dict[str, float | str]:
    """Return what mining a file takes in a fresh process."""
    command = [sys.executable, __file__, "--work", str(path), "--workers", str(workers)]
    done = subprocess.run(command, check=True, capture_output=True)
    row: dict[str, float | str] = orjson.loads(done.stdout)
    return row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.work.with_suffix(f".{options.workers}.json"), options.workers)
        return
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| Lines | Processes | Seconds | CPU µs a line | Peak MB | Contract |")
    print("| ---: | ---: | ---: | ---: | ---: | --- |")
    with TemporaryDirectory() as folder:
        for count, workers in ((options.lines // 10, 1), (options.lines, 1), (options.lines, 2)):
            path = Path(folder) / f"{count}.jsonl"
            if not path.exists():
                with open(path, "wb") as file:
                    file.writelines(map(line, range(count)))
            row = measure(path, workers)
            micros = 1e6 * float(row["cpu"]) / count
            print(f"| {count:,} | {workers} | {row['seconds']:.1f} | {micros:.1f} "
                  f"| {row['peak']:.0f} | {str(row['sha256'])[:12]} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
