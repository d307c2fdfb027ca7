"""Speed of training rollouts: our driver beside stock TRL's tool loop, on the same episodes.

Both decode with the same small chat model (random attention, taught to make one call over and over)
through the same tools, the same policy text and the same number of turns, so they write and read
the same dialogue. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

TURNS = 6
EPISODES = 4
ROUNDS = 1
END = "<|im_end|>"
CALL = '<tool_call>\n{"name": "calculate", "arguments": {"expression": "1 + 1"}}\n</tool_call>'


def _texts() -> list[str]:
    from bench2robust.core.canonical import canonical
    from bench2robust.domains import get_domain

    domain = get_domain("retail")
    return [domain.policy, *(canonical(spec.openai()) for spec in domain.tools(True))]


def make_tokenizer() -> Any:
    """Return a tokenizer with Qwen's template, in which the one call is one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    from trl.chat_template_utils import qwen2_5_chat_template

    fast: Any = PreTrainedTokenizerFast
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.train_from_iterator(
        _texts(),
        trainers.BpeTrainer(
            vocab_size=4000,
            special_tokens=[END, "<|im_start|>", "<|pad|>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    inner.add_tokens([CALL])
    made: Any = fast(tokenizer_object=inner, eos_token=END, pad_token="<|pad|>")
    made.chat_template = qwen2_5_chat_template
    return made


def make_model(words: Any) -> Any:
    """Return a model that writes the call after anything but itself, and then ends the message."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words), hidden_size=128, intermediate_size=256, num_hidden_layers=4,
            num_attention_heads=4, max_position_embeddings=32_768,
            eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id, bos_token_id=None,
        )
    )  # fmt: skip
    call, end = words.convert_tokens_to_ids(CALL), words.eos_token_id
    with torch.no_grad():
        for (
            layer
        ) in model.model.layers:  # what they compute is thrown away, and computed all the same
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embedded, head = model.model.embed_tokens.weight, model.lm_head.weight
        embedded.zero_()
        embedded[:, 0] = 1.0
        embedded[call, :2] = torch.tensor([0.0, 1.0])
        head.zero_()
        head[call, 0] = head[end, 1] = 100.0
    return model.eval()


def ours(words: Any, model: Any) -> tuple[int, float]:
    """Return tokens after the prompt, and seconds, of our driver."""
    from bench2robust.domains import get_domain
    from bench2robust.envs.episode import Episode, EpisodeSettings
    from bench2robust.training.chat_view import ChatLexicon
    from bench2robust.training.engine import LockstepEngine
    from bench2robust.training.rollout import Budgets, Rollout

    domain = get_domain("retail")
    lexicon = ChatLexicon(words, [words.eos_token_id], domain, "none")
    around = EpisodeSettings(alternatives=True, max_steps=TURNS)
    began = perf_counter()
    rollouts = []
    for task in domain.tasks("train")[:EPISODES]:
        episode = Episode(domain, task, 0, around)
        rollouts.append(Rollout(episode, lexicon.view(episode), Budgets(64, 32_000)))
    LockstepEngine(0.0).play(model, rollouts, [("bench", i) for i in range(EPISODES)])
    seconds = perf_counter() - began
    assert all(r.episode.steps == TURNS for r in rollouts)
    return sum(len(r.tokens) - r.prompt for r in rollouts), seconds


def stock(words: Any, model: Any, folder: Path) -> tuple[int, float]:
    """Return the same of TRL's own loop over :mod:`bench2robust.training.stock`."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from bench2robust.domains import get_domain
    from bench2robust.memory import system_text
    from bench2robust.training.stock import stock_environment

    domain = get_domain("retail")
    system = {"role": "system", "content": system_text(domain.policy, "")}
    rows = [
        {"prompt": [system, {"role": "user", "content": ""}], "task": task.id}
        for task in domain.tasks("train")[:EPISODES]
    ]
    trainer = GRPOTrainer(
        model=model,
        args=GRPOConfig(
            output_dir=str(folder), per_device_train_batch_size=EPISODES, num_generations=2,
            max_completion_length=16_000, max_tool_calling_iterations=TURNS, use_cpu=True,
            temperature=0.01, report_to=[], gradient_checkpointing=False, save_strategy="no",
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=words,
        environment_factory=stock_environment(max_steps=TURNS + 1),
    )  # fmt: skip
    timed: list[tuple[int, float]] = []
    generate = trainer._generate

    def watched(prompts: Any) -> Any:
        began = perf_counter()
        made = generate(prompts)
        timed.append((sum(map(len, made[1])), perf_counter() - began))
        raise _GeneratedError  # what comes after is the same for both

    trainer._generate = watched
    trainer.model.train()
    with suppress(_GeneratedError):
        trainer._generate_and_score_completions(rows)
    return timed[0]


class _GeneratedError(Exception):
    """Ends a step of TRL once it has generated."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="run folders of trainings")
    shares = [own_share(run) for run in parser.parse_args().runs]
    words = make_tokenizer()
    model = make_model(words)
    rates: dict[str, list[float]] = {"our driver": [], "environment_factory": []}
    tokens: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, (count, seconds) in (
                ("our driver", ours(words, model)),
                ("environment_factory", stock(words, model, Path(folder))),
            ):
                rates[name].append(count / seconds)
                tokens[name] = count
    table = Table("Rollout", "Tokens", "Tokens/s (median)", "Against stock")
    base = median(rates["environment_factory"])
    for name, found in rates.items():
        table.add_row(
            name, f"{tokens[name]:,}", f"{median(found):,.0f}", f"{median(found) / base:.2f}×"
        )
    console = Console()
    console.print(table)
    for line in shares:
        console.print(line)


def own_share(run: Path) -> str:
    """Say which part of a training's steps passed outside model calls."""
    try:
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SystemExit(f"{run} is no run folder of a training: {error}") from None
    rows = [json.loads(line) for line in lines]
    own = sum(row["time/own"] for row in rows)
    whole = sum(row["step_time"] * 2 for row in rows)  # a step is one of an iteration's two updates
    return f"{run}: outside model calls {own / whole:.1%} of a training step"


if __name__ == "__main__":
    main()
