"""Two training processes do what one does: groups that span ranks, one filter, one curriculum."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TWO = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone")  # on a free port
SHORT = (
    *("hardware.nodes=2", "held_out.tasks=4", "episodes.validation=4", "checkpoints.every=1"),
    *("sft.steps=10", "sft.words.copying=2", "sft.attempts=1", "sft.gate_clean=0"),
    *("sft.gate_attempts=0", "group={size: 4, clean: 2}"),
    "optim={steps: 2, updates: 1, prompts: 4, micro_batch: 4}",
    "curriculum.phases=[{name: full, max_injections: 1, mix: {S1: 0.2, S2: 0.5, S3: 0.3}}]",
)


def start(*command: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "TRL_EXPERIMENTAL_SILENCE": "1",
    }
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == code, done.stderr[-6000:]
    return done


def train(out: Any, ranks: Any, policy: Any, small: Any) -> Any:
    made = small.settings(
        out,
        optim={"prompts": 3, "steps": 2, "updates": 1, "micro_batch": 6},
        hardware={"nodes": ranks},
    )
    out.mkdir()
    file = out / "settings.json"
    file.write_text(json.dumps(made.model_dump(mode="json")))
    start(*(TWO if ranks > 1 else ()), HERE / "ranks.py", policy, file, out)
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


SAVING = """
import sys
from pathlib import Path
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, AutoTokenizer
from bench2robust.training.ranks import any_rank, leave, processes
from bench2robust.training.saving import save_model

policy, folder = map(Path, sys.argv[1:])
state = processes()
assert any_rank(state.process_index == 1) and not any_rank(False)
model = AutoModelForCausalLM.from_pretrained(policy)
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
assert all(type(weight).__name__ == "DTensor" for weight in model.parameters())
save_model(model, AutoTokenizer.from_pretrained(policy), folder)
assert (folder / "model.safetensors").exists()
leave()
"""


def test_weights_that_are_spread_over_processes_are_saved_whole(
    tiny_policy: Path, tmp_path: Path
) -> None:
    script, folder = tmp_path / "saving.py", tmp_path / "saved"
    script.write_text(SAVING)
    start(*TWO, script, tiny_policy, folder)
    before = AutoModelForCausalLM.from_pretrained(tiny_policy).state_dict()
    after = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


LEAVING = """
import atexit, os, sys
import torch
from bench2robust.training.ranks import leave

class Last:
    def __del__(self):  # called when Python takes itself apart
        os._exit(9)

last = Last()
leave()
print("alone, it goes on")
atexit.register(print, "exit functions run")
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1
)
leave()
os._exit(8)
"""


def test_a_process_among_others_ends_before_python_does(tmp_path: Path) -> None:
    said = start("-c", LEAVING, tmp_path / "meeting").stdout.splitlines()
    assert said == ["alone, it goes on", "exit functions run"]


def test_the_program_of_two_processes_speaks_and_judges_once(tmp_path: Path) -> None:
    program = (
        *(*TWO, "-m", "bench2robust", "train", "--out", tmp_path / "run"),
        *("--config", ROOT / "configs" / "train" / "cpu_demo.yaml"),
        *(part for setting in SHORT for part in ("--set", setting)),
    )
    missed = start(*program, "--at-least", "clean=1", code=1)
    assert re.findall(r"\d of \d held-out", missed.stderr) == ["0 of 4 held-out"]
    assert not re.search(r"exitcode +: 2", missed.stderr), "another process judged, too early"
    done = start(*program, "--at-least", "clean=0")  # finds all of it done
    for title in ("### Batch arithmetic", "### What reinforcement changed"):
        assert missed.stdout.count(title) == done.stdout.count(title) == 1
