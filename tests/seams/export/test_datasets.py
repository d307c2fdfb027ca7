from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.record import record_key
from bench2robust.seams.export import export
from bench2robust.seams.export.source import RunSource
from bench2robust.training.sft_data import is_demonstration

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

_TEMPLATE = """\
{%- if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}
{%- for message in messages %}<{{ message.role }}>{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}{{ call.function.name }}
{%- for key, value in call.function.arguments.items() %} {{ key }}={{ value }}{% endfor %}
{%- endfor %}{% endfor %}"""


@pytest.fixture(autouse=True)
def _quiet() -> None:
    datasets.disable_progress_bars()


@pytest.fixture(scope="module")
def rows(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("rows") / "sft"
    export(folder, "sft", out)
    return datasets.load_from_disk(str(out))


def test_rows_are_the_demonstrations_in_order(rows: Any, source: RunSource) -> None:
    wanted = [r for r in source.records() if is_demonstration(r)]
    assert 0 < len(rows) == len(wanted) < len(list(source.records()))
    assert rows["agent"] == [r["agent"] for r in wanted]
    for row, record in zip(rows, wanted, strict=True):
        made = [
            (call["function"]["name"], call["function"]["arguments"])
            for message in row["messages"]
            for call in message.get("tool_calls", ())
        ]
        assert made == [(e["call"], e["args"]) for e in record["events"] if "call" in e]
        assert row["tools"] == source.tools(record)


def test_trl_takes_a_step_on_them(rows: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    trl = pytest.importorskip("trl")
    transformers = pytest.importorskip("transformers")
    tokenizer = _tokenizer(rows, transformers)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    shape = {**sizes, "num_attention_heads": 2, "vocab_size": len(tokenizer)}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
    before = model.lm_head.weight.detach().clone()
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path), max_steps=1, max_length=512, report_to=[], save_strategy="no",
        per_device_train_batch_size=2, use_cpu=True, learning_rate=0.01, disable_tqdm=True,
        bf16=False, activation_checkpointing=False,
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        model, args=arguments, train_dataset=rows.select(range(4)), processing_class=tokenizer
    )
    shown = tokenizer.decode(trainer.train_dataset[0]["input_ids"])
    assert "find_user_id_by" in shown  # of the tools that the template was given
    trainer.train()
    assert trainer.state.global_step == 1
    assert not torch.equal(before, model.lm_head.weight)


def _tokenizer(rows: Any, transformers: Any) -> Any:
    """A tokenizer of words, trained on the rows themselves."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["<unk>", "<pad>", "</s>"]
    texts = [json.dumps(row) for row in rows.select(range(4))]
    made.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
    )
    fast.chat_template = _TEMPLATE
    return fast


@pytest.fixture(scope="module")
def pairs(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("rows") / "preferences"
    export(folder, "preferences", out)
    return datasets.load_from_disk(str(out))


def test_a_pair_parts_in_an_agents_decision(pairs: Any, source: RunSource) -> None:
    records = {record_key(r): r for r in source.records()}
    assert len(pairs) > 3
    for pair in pairs:
        cell = (pair["mode"], pair["task"], int(pair["seed"]))
        right, wrong = (records[pair[f"{s}_agent"], *cell] for s in ("chosen", "rejected"))
        assert is_demonstration(right) and not is_demonstration(wrong)
        assert source.memory(right) == source.memory(wrong)
        assert [m["role"] for m in pair["prompt"][:2]] == ["system", "user"]
        first = pair["chosen"][0], pair["rejected"][0]
        assert first[0]["role"] == first[1]["role"] == "assistant" and first[0] != first[1]
        texts = [m["content"] for m in pair["prompt"] + pair["chosen"] if m["role"] == "tool"]
        assert texts == [e["content"] for e in right["events"] if "call" in e]


def test_a_pair_begins_with_the_fault_that_both_met(pairs: Any) -> None:
    after_calls = [pair for pair in pairs if pair["prompt"][-1]["role"] == "tool"]
    assert after_calls


def test_an_agent_that_gave_up_without_a_word_is_no_pair(source: RunSource) -> None:
    from bench2robust.seams.export.preferences import _row

    right = next(r for r in source.records() if is_demonstration(r))
    silent = {**right, "events": right["events"][:1]}
    assert _row(source, right, silent) is None  # type: ignore[arg-type]
