"""What is run for the page of commands, in this order, in one folder. All of it takes seconds."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, list[str]] = {
    "domains": ["bench2robust domains"],
    "tasks": ["bench2robust tasks", "bench2robust tasks --show plain_0001"],
    "faults show": ["bench2robust faults", "bench2robust faults show silent"],
    "eval": [
        "bench2robust eval --data builtin:small --tasks train:20 --seeds 2 --agent scripted:naive "
        "--agent scripted:retry --modes clean,inject,inject_alt --transcripts --out runs/a",
        "bench2robust eval --dry-run",
    ],
    "certify": ["bench2robust certify --data builtin:small --tasks train:5 --seeds 1 --out runs/c"],
    "report": ["bench2robust report runs/a"],
    "replay": ["bench2robust replay runs/a 41"],
    "memory build": ["bench2robust memory build runs/a --out memory.json"],
    "memory show": ["bench2robust memory show retail"],
    "export": ["bench2robust export runs/a --to markdown --episode 41 --out transcript"],
    "contracts mine": [
        "bench2robust contracts mine runs/a --out contract.json",
    ],
    "contracts show": ["bench2robust contracts show contract.json"],
    "contracts check": [
        "bench2robust contracts check runs/a --contract contract.json || echo exit code $?"
    ],
    "contracts audit": ["bench2robust contracts audit runs/a"],
    "train": ["bench2robust train --config configs/train/qwen3_4b_paper.yaml --dry-run"],
    "launch": ["bench2robust launch --config configs/train/qwen3_4b_paper.yaml --dry-run"],
}
