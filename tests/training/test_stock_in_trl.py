"""A scripted episode inside TRL's own loop, with TRL's own parsing of calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records
from bench2robust.training.stock import stock_environment

trl = pytest.importorskip("trl", reason="trl is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
datasets = pytest.importorskip("datasets", reason="datasets is not installed")
_SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]


def _record(folder: Path, kind: Any) -> EpisodeRecord:
    """An episode in which a fault was met and the task done."""
    values = {
        "agents": ["scripted:retry"], "modes": ["inject_alt"], "seeds": 2, "tasks": "train:6",
        "data": "builtin:small", "out": str(folder),
    }  # fmt: skip
    run(make_job(EvalConfig.read(values), kind._domain))
    done = (r for r in read_records(folder) if r["success"] and r["faults"])
    return min(done, key=lambda r: r["calls"])


def _texts(record: EpisodeRecord) -> list[str]:
    """What a model writes to do what the record says; the last is after the end."""
    calls = [
        (e["call"], e["args"]) if "call" in e else ("respond", {"message": e["say"]})
        for e in record["events"]
        if "call" in e or "say" in e
    ]
    bodies = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    return [*(f"<tool_call>\n{body}\n</tool_call>" for body in bodies), "Done."]


def _tokenizer(texts: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=_SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    home = Path(trl.__file__).parent / "chat_templates"
    fast.chat_template = (home / "qwen3.jinja").read_text()
    return fast


@pytest.mark.filterwarnings("ignore")  # of TRL on an experimental interface
def test_a_scripted_episode_earns_the_same_reward_in_trl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    kind = stock_environment(data="builtin:small")
    record = _record(tmp_path / "run", kind)
    texts = _texts(record)
    tools = [json.dumps(spec.openai()) for spec in kind._domain.tools(True)]
    tokenizer = _tokenizer([*texts, *tools])

    class Scripted(trl.GRPOTrainer):  # type: ignore[misc]
        """Its model says what it is told to, turn by turn."""

        turns = 0

        def _generate_single_turn(self, prompt_ids: list[Any], *_: Any, **__: Any) -> Any:
            said = tokenizer.encode(f"{texts[self.turns]}<|im_end|>")
            self.turns += 1
            return [said for _ in prompt_ids], None

    prompt = [{"role": "system", "content": "Serve."}, {"role": "user", "content": ""}]
    row = {"prompt": prompt, **{key: record[key] for key in ("task", "seed", "scenario")}}
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(
        **shape, num_attention_heads=1, vocab_size=len(tokenizer), max_position_embeddings=65536
    )
    trainer = Scripted(
        transformers.LlamaForCausalLM(config),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "out"),
            max_steps=1,
            num_generations=2,
            use_cpu=True,
            per_device_train_batch_size=2,
            max_completion_length=32768,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            bf16=False,
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_list([row]),
        processing_class=tokenizer,
        environment_factory=kind,
    )
    trainer.train()
    logged = trainer.state.log_history[0]
    assert trainer.turns == len(texts)
    assert logged["tools/call_frequency"] == len(texts) - 1
    assert logged["tools/failure_frequency"] == 0.0
    assert logged["reward"] == pytest.approx(record["reward"])
