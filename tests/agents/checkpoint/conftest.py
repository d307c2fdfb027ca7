"""Small real models, made here: random weights, or weights that always say one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

pytest.importorskip("torch", reason="checkpoints need bench2robust[train]")
pytest.importorskip("transformers", reason="checkpoints need bench2robust[train]")

import torch

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.runner import RunResult, make_job, run

TEMPLATE = (Path(__file__).parents[1] / "chat" / "tools.jinja").read_text()
END = "<|im_end|>"
LOOK = '<tool_call>{"name": "get_order_details", "arguments": {"order_id": "#W1"}}</tool_call>'


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> Callable[..., Any]:
    """A function that makes a byte-level BPE tokenizer, learned from the policy."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[END, "<|im_start|>", LOOK], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    inner.train_from_iterator([get_domain("retail").policy], trainer)
    text = inner.to_str()

    def make(template: str | None = TEMPLATE) -> Any:
        made = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(text), eos_token=END)
        made.chat_template = template
        return made

    return make


class Save(Protocol):
    """Writes a checkpoint and returns its folder."""

    def __call__(
        self, folder: Path, *, says: str = "", template: str | None = TEMPLATE, **config: Any
    ) -> Path: ...


@pytest.fixture(scope="session")
def save(tokenizer: Callable[..., Any]) -> Save:
    """A function that saves a model: random, or one that always ``says`` one token and ends."""
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    def go(folder: Path, *, says: str = "", template: str | None = TEMPLATE, **config: Any) -> Path:
        words = tokenizer(template)
        sizes = {"vocab_size": len(words), "hidden_size": 32, "intermediate_size": 32,
                 "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
                 "max_position_embeddings": 16_384, "eos_token_id": words.eos_token_id,
                 "initializer_range": 0.5, "bos_token_id": None, **config}  # fmt: skip
        torch.manual_seed(0)
        sliding = "sliding_window" in config
        model: Any = (
            MistralForCausalLM(MistralConfig(**sizes)) if sliding
            else LlamaForCausalLM(LlamaConfig(**sizes))
        )  # fmt: skip
        if says:
            _teach(model, words.convert_tokens_to_ids(says), words.eos_token_id)
        model.save_pretrained(folder)
        words.save_pretrained(folder)
        return folder

    return go


def _teach(model: Any, sentence: int, end: int) -> None:
    """Let the model write ``sentence`` after anything but itself, and then ``end``."""
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embedded, head = model.model.embed_tokens.weight, model.lm_head.weight
        embedded.zero_()
        embedded[:, 0] = 1.0
        embedded[sentence, :2] = torch.tensor([0.0, 1.0])
        head.zero_()
        head[sentence, 0] = head[end, 1] = 1.0


@pytest.fixture(scope="session")
def random_model(save: Save, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights."""
    return save(tmp_path_factory.mktemp("random") / "model")


@pytest.fixture(scope="session")
def looker(save: Save, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that calls ``get_order_details`` whatever it reads."""
    return save(tmp_path_factory.mktemp("looker") / "model", says=LOOK)


class Play(Protocol):
    """Runs an evaluation."""

    def __call__(self, out: Path, path: Path | str, **settings: Any) -> RunResult: ...


@pytest.fixture(scope="session")
def play() -> Play:
    """A function that evaluates a checkpoint on a few tasks."""

    def go(out: Path, path: Path | str, **settings: Any) -> RunResult:
        progress = settings.pop("progress", lambda done: None)
        weights = {"max_new_tokens": 8, "batch_size": 4, **settings.pop("checkpoint", {})}
        base = {
            "agents": f"checkpoint:{path}",
            "modes": "clean,inject",
            "seeds": 1,
            "tasks": 3,
            "max_steps": 3,
            "certify": False,
            "out": str(out),
        }
        config = EvalConfig.read({**base, "checkpoint": weights, **settings})
        return run(make_job(config, get_domain("retail")), progress)

    return go
