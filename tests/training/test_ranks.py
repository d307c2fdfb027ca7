"""Two training processes do what one does: groups that span ranks, one filter, one curriculum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


def train(out: Any, ranks: Any, policy: Any, small: Any) -> Any:
    made = small.settings(
        out,
        optim={"prompts": 3, "steps": 2, "updates": 1, "micro_batch": 6},
        hardware={"nodes": ranks},
    )
    out.mkdir()
    file = out / "settings.json"
    file.write_text(json.dumps(made.model_dump(mode="json")))
    launcher = [
        "-m",
        "torch.distributed.run",
        "--nproc_per_node",
        str(ranks),
        "--standalone",  # on a free port
    ]
    done = subprocess.run(
        [
            sys.executable,
            *(launcher if ranks > 1 else []),
            str(HERE / "ranks.py"),
            policy,
            file,
            out,
        ],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(HERE.parents[1]),
            "TRL_EXPERIMENTAL_SILENCE": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:6000]
    return [json.loads((out / f"rank{rank}.json").read_text()) for rank in range(ranks)]


def test_two_ranks_do_what_one_does(tiny_policy: Any, tmp_path: Any, small: Any) -> None:
    (alone,) = train(tmp_path / "one", 1, tiny_policy, small)
    both = train(tmp_path / "two", 2, tiny_policy, small)
    assert len(alone) == len(both[0]) == len(both[1]) == 2
    for whole, first, second in zip(alone, *both, strict=True):
        assert first["tasks"] + second["tasks"] == whole["tasks"]
        assert first["tasks"][-1] == second["tasks"][0], "a group spans the ranks"
        assert first["members"] + second["members"] == whole["members"]
        assert first["advantages"] + second["advantages"] == pytest.approx(whole["advantages"])
        assert first["masked"] + second["masked"] == whole["masked"]
        assert any(whole["masked"]) and not all(whole["masked"]), "the filter has something to do"
        assert first["tokens"] == second["tokens"] == whole["tokens"]
        assert first["kept"] == second["kept"] == whole["kept"]
        assert first["phase"] == second["phase"] == whole["phase"]


LEAVING = """
import atexit, os, sys
import torch.distributed as group
atexit.register(lambda: os._exit(9 if group.is_initialized() else 0))  # after what comes later
import bench2robust.training.ranks
group.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
"""


def test_a_process_leaves_the_others_before_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEAVING, str(tmp_path / "meeting")]
    path = {"PYTHONPATH": str(HERE.parents[1])}
    assert subprocess.run(command, env={**os.environ, **path}, check=False).returncode == 0
