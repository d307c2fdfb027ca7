"""BFCL's own verdict beside ours, on the clean episodes of a run.

    python benchmarks/bfcl_official.py RUN

Prints, by agent and category, how many clean episodes pass by our verdict, by the benchmark's, and
by both. Needs bfcl-eval; see docs/benchmarks.md for what the two verdicts ask.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import orjson

from bench2robust.domains.bfcl import load_bfcl
from bench2robust.domains.bfcl.official import calls_by_turn, official_verdict


def main() -> None:
    """Read a run folder and print the table."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python benchmarks/bfcl_official.py RUN")
    domain = load_bfcl()
    counts: Counter[tuple[str, str, str]] = Counter()
    with (Path(sys.argv[1]) / "episodes.jsonl").open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            if record.get("mode") != "clean" or record["status"] != "ok":
                continue
            turns = calls_by_turn(record["events"])
            official, _ = official_verdict(domain, record["task"], turns)
            ours, key = record["success"], (record["agent"], record["intent"])
            counts[*key, "episodes"] += 1
            counts[*key, "ours"] += ours
            counts[*key, "official"] += official
            counts[*key, "both"] += ours and official
    print("| Agent | Category | Episodes | Ours | Official | Both |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for agent, category in dict.fromkeys(key[:2] for key in counts):
        row = (counts[agent, category, what] for what in ("episodes", "ours", "official", "both"))
        print(f"| {agent} | {category} | {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
