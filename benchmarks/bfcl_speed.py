"""BFCL's multi-turn calls: our sessions beside the package's own executor, in one run.

    python benchmarks/bfcl_speed.py [ROUNDS]

Both make every gold call of the 800 tasks, on fresh instances of each task. The executor takes
texts, and is asked for one call at a time, as a model makes them, or for a whole turn; ours take a
parsed call each, and also the text of each, which is parsed first. Rounds alternate, and the best
one of each counts. Needs bfcl-eval; see docs/benchmarks.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from bench2robust.domains.bfcl import BfclDomain, load_bfcl
from bench2robust.domains.bfcl.calls import read_call

ROUNDS = 5


def ours(domain: BfclDomain) -> None:
    """Make the parsed gold calls."""
    for entry in domain.entries.values():
        call = domain.session(entry.task).call
        for action in entry.task.actions:
            call(action)


def ours_from_text(domain: BfclDomain) -> None:
    """Parse and make the gold calls."""
    names = {s.name: tuple(s.parameters["properties"]) for s in domain.tools()}
    for entry in domain.entries.values():
        call = domain.session(entry.task).call
        for turn in entry.gold:
            for text in turn:
                call(read_call(text, names))


def executor(domain: BfclDomain, by_turn: bool) -> None:
    """Have the package's executor make the gold calls, and drop its instances after each task."""
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils as package

    for task_id, entry in domain.entries.items():
        asked = [list(t) for t in entry.gold] if by_turn else [[c] for t in entry.gold for c in t]
        for calls in asked:
            package.execute_multi_turn_func_call(
                calls, entry.raw["initial_config"], list(entry.classes), "speed", task_id,
                long_context=entry.long_context,
            )  # fmt: skip
        kept: dict[str, Any] = vars(package)
        for key in [k for k in kept if k.startswith("speed_")]:
            del kept[key]


def main() -> None:
    """Print calls per second, and the ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    domain = load_bfcl()
    calls = sum(len(entry.task.actions) for entry in domain.entries.values())
    arms: dict[str, Callable[[], None]] = {
        "package, a call at a time": lambda: executor(domain, by_turn=False),
        "package, a turn at a time": lambda: executor(domain, by_turn=True),
        "ours, parsed calls": lambda: ours(domain),
        "ours, from text": lambda: ours_from_text(domain),
    }
    best = dict.fromkeys(arms, float("inf"))
    for _ in range(rounds):
        for name, run in arms.items():
            start = perf_counter()
            run()
            best[name] = min(best[name], perf_counter() - start)
    slow, fast = best["package, a call at a time"], best["package, a turn at a time"]
    print(f"{calls} calls in {len(domain.entries)} episodes, best of {rounds} rounds")
    for name, seconds in best.items():
        print(f"{name:27} {calls / seconds:9,.0f} calls/s   x {slow / seconds:4.1f} of a call at "
              f"a time, x {fast / seconds:4.1f} of a turn at a time")  # fmt: skip


if __name__ == "__main__":
    main()
