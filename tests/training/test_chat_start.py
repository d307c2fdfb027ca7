"""Supervised training of a chat model, with every weight or with adapters only."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bench2robust.training import chat_start
from bench2robust.training.examples import Example
from bench2robust.training.preemption import StopRequest

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")


@pytest.fixture
def taught(tiny_policy: Path, tmp_path: Path, small: Any, monkeypatch: Any) -> Any:
    """From adapters to the weights before and after two steps."""
    pytest.importorskip("peft", reason="adapters need bench2robust[train]")
    tokens = [1, 2, 3, 4, 5, 6]
    monkeypatch.setattr(chat_start, "_rows", lambda *_: [None] * 8)
    monkeypatch.setattr(chat_start, "weighed", lambda *_: Example(tokens, [0.0] + [1.0] * 5))
    lexicon: Any = SimpleNamespace(tokenizer=lambda: AutoTokenizer.from_pretrained(tiny_policy))

    def teach(lora: Any) -> Any:
        made = small.settings(
            tmp_path / "run",
            model={"path": str(tiny_policy), "scratch": None, "lora": lora, "checkpointing": True},
            episodes={"view": "chat"},
            sft={"steps": 2, "batch": 4, "learning_rate": 0.1},
        )
        model: Any = AutoModelForCausalLM.from_pretrained(tiny_policy)
        folder = chat_start.chat_start(
            made, small.campaign(), lexicon, model, tmp_path, StopRequest()
        )
        before = AutoModelForCausalLM.from_pretrained(tiny_policy).state_dict()
        return before, AutoModelForCausalLM.from_pretrained(folder).state_dict()

    return teach


def moved(before: Any, after: Any) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


def test_adapters_move_the_layers_they_are_for_and_are_merged(taught: Any) -> None:
    names = moved(*taught({"rank": 2, "targets": ["q_proj"]}))
    assert names and all("q_proj" in name for name in names)


def test_without_adapters_every_weight_is_trained(taught: Any) -> None:
    names = moved(*taught(None))
    assert any("embed_tokens" in name for name in names)
    assert any("down_proj" in name for name in names)
