from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.domains import get_domain
from bench2robust.training.arithmetic import batch_arithmetic
from bench2robust.training.checks import training_tasks
from bench2robust.training.config import TrainSettings, load_settings
from bench2robust.training.dryrun import Plan, plan_run
from bench2robust.training.estimates import estimate_memory, estimate_time
from bench2robust.training.shapes import KNOWN, model_shape

CONFIGS = Path(__file__).parents[2] / "configs" / "train"
QWEN = "Qwen/Qwen3-4B-Thinking-2507"
GIB = 1024**3


def plan(**values: Any) -> Plan:
    return plan_run(TrainSettings.read({"model": {"path": QWEN}, **values}))


def cells(made: Plan, name: str) -> dict[str, str]:
    (table,) = (table for table in made.tables if table.name == name)
    return {row[0]: row[1] for row in table.rows}


TABLE_12 = {
    "Base model": "Qwen/Qwen3-4B-Thinking-2507",
    "Algorithm": "DAPO (group-relative with asymmetric clip 0.2/0.28 + KL stabilization)",
    "KL loss": "low_var_kl, coefficient 0.02",
    "Learning rate": "2e-06 (constant)",
    "Global batch size": "256 (16 prompts × 16 rollouts)",
    "Rollouts per prompt": "16 (hybrid: first 8 clean + last 8 noisy)",
    "Max response tokens": "8192",
    "Max steps per episode": "25",
    "Context length": "32768",
    "Epochs": "3",
    "Training data": "937 tasks (retail)",
    "Reward": "partial_credit × 0.3 (fail) or 1.0 × efficiency (pass)",
    "Repetition penalty": "3 × same call → 0.5, 4 × → 0.0",
    "Efficiency discount": "max(0.3, 1.0 - 0.02 × max(0, turns - 12))",
    "Curriculum": "table11: phases 1–5 (1–4 auto-advance; phase 5 early stopping)",
    "Bayesian Tool Memory": "full",
    "Hardware": "8 × H100 80GB",
    "User simulator": "chat:Qwen/Qwen3-235B-A22B-Instruct-2507",
    "Framework": "TRL",
}


def test_the_paper_s_configuration_prints_table_12() -> None:
    made = plan_run(load_settings(CONFIGS / "qwen3_4b_paper.yaml"))
    assert cells(made, "table12") == TABLE_12
    assert cells(made, "batch") == {
        "rollouts per iteration": "256",
        "of these per rank": "32",
        "optimizer steps per iteration": "1",
        "backward passes per rank and step": "32",
        "iterations": "176",  # 937 × 3 / 16, rounded up
        "episodes in all": "45,056",
    }
    assert {table.name for table in made.tables} >= {"table11", "memory", "time"}


@pytest.mark.parametrize("name", [p.stem for p in sorted(CONFIGS.glob("*.yaml"))])
def test_every_shipped_configuration_can_be_planned(name: str) -> None:
    assert plan_run(load_settings(CONFIGS / f"{name}.yaml")).tables


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"optim": {"prompts": 5}, "hardware": {"devices": 8}, "group": {"size": 6, "clean": 3}},
        "= 30 rollouts do not divide into 8 ranks × 1 per backward pass (optim.micro_batch) × 1 "
        "updates (optim.updates) = 8: set optim.prompts to 4 or 8.",
    ),
    (
        {"optim": {"micro_batch": 3}},
        "set optim.prompts to 15 or 18, or lower optim.micro_batch.",
    ),
    ({"rollout": {"context": 12_000}}, "set context to at least 1"),
    ({"rollout": {"context": 4096}}, "leaves no room for a prompt"),
    ({"model": {"path": "./nowhere"}}, "optim.kl is 0.02, so the reference policy is read from"),
    ({"model": {"path": "nowhere"}, "optim": {"kl": 0}}, "there is no model in 'nowhere'. give"),
    ({"model": {}}, "give either path"),
    ({"model": {"path": QWEN, "scratch": {}}}, "give either path"),
    ({"model": {"scratch": {}}}, "knows the words of the compact view only"),
    ({"episodes": {"view": "compact"}}, "any other model needs chat"),
    (
        {"model": {"scratch": {"heads": 3}}, "episodes": {"view": "compact"}},
        "3 heads do not divide 128",
    ),
    (
        {"model": {"scratch": {"hidden": 6, "heads": 2}}, "episodes": {"view": "compact"}},
        "2 heads do not divide 6 hidden units into even parts",
    ),
    (
        {"checkpoints": {"evaluate_every": 5}, "episodes": {"validation": 0}},
        "checkpoints.evaluate_every 5 looks at validation tasks, and episodes.validation is 0",
    ),
    (
        {"hardware": {"nodes": 100_000_000}},
        "set optim.prompts to ",
    ),
    ({"rollout": {"engine": "vllm"}}, "needs accelerators"),
    ({"group": {"clean": 16}}, "a hybrid group has both kinds"),
    ({"group": {"clean": 0}}, "group.mix to all_clean or all_injected"),
    ({"group": {"clean": 15, "normalisation": "split"}}, "at least 2 members of each kind"),
    ({"episodes": {"alternatives": False}}, "has S2, which needs a tool to switch to"),
    ({"episodes": {"s2_classes": "all", "side": "first_called"}}, "choose one"),
    ({"episodes": {"memory": "full+online"}}, "leave out +online"),
    ({"method": "grpo"}, "set them equal, or method: dapo"),
    ({"method": "grpo", "optim": {"epsilon_high": 0.2}}, "set it to 0, or method: dapo"),
    ({"episodes": {"tasks": "all"}}, "402 held-out tasks"),
    ({"episodes": {"tasks": "train:10", "validation": 10}}, "which leaves none to train on"),
    ({"method": "sft"}, "sft.steps 0 would do nothing"),
    (
        {"method": "sft", "sft": {"steps": 5, "batch": 30}, "hardware": {"devices": 8}},
        "set sft.batch to 32",
    ),
    (
        {"rollout": {"top_p": 0.5}},
        "rollout.top_p is 0.5, and rollout.engine transformers samples from every token: set top_p",
    ),
    (
        {"model": {"scratch": {}}, "episodes": {"view": "compact", "memory": "full"}},
        "episodes.memory is 'full', and episodes.view compact has no words for a memory block",
    ),
    ({"method": "ppo"}, "and validation: 0"),
    ({"method": "ppo", "episodes": {"validation": 0}}, "take fixed_mix or random_noise"),
    (
        {"hardware": {"devices": 1, "memory": 16}, "rollout": {"engine": "vllm"}},
        "train adapters (model.lora)",
    ),
]


@pytest.mark.parametrize(("values", "words"), REFUSED, ids=lambda v: str(v)[:60])
def test_what_cannot_work_is_refused_with_the_way_out(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(**values)
    assert words in str(caught.value)


UNUSED_BY_PPO: list[tuple[str, str, Any, str]] = [
    ("episodes", "s2_classes", "all", "s2_classes is all, which"),
    ("episodes", "alternatives", False, "alternatives is false, which"),
    ("episodes", "memory", "full", "memory is full, which"),
    ("episodes", "user", "chat:x", "user is chat:x, which"),
    ("episodes", "view", "compact", "view is compact, which"),
    ("reward", "repetition", "after_success", "repetition is after_success, which"),
    ("reward", "permuted", True, "permuted is true, which"),
    ("reward", "partial", False, "partial is false, which"),
]


@pytest.mark.parametrize(("group", "name", "value", "words"), UNUSED_BY_PPO)
def test_what_ppo_does_not_use_is_refused_and_its_default_is_not(
    group: str, name: str, value: Any, words: str
) -> None:
    def planned(value: Any) -> Plan:
        values = {"method": "ppo", "curriculum": "fixed_mix", "episodes": {"validation": 0}}
        values.setdefault(group, {})[name] = value  # type: ignore[union-attr,call-overload]
        return plan_run(TrainSettings.read(values))

    with pytest.raises(UsageError, match=f"{group}.{words} method ppo does not use: leave it out"):
        planned(value)
    assert planned(getattr(getattr(TrainSettings(), group), name)).tables


def test_top_p_is_for_vllm() -> None:
    hardware = {"devices": 8, "memory": 80}
    assert plan(rollout={"engine": "vllm", "top_p": 0.5}, hardware=hardware).tables


@pytest.mark.parametrize("prompts", range(1, 40))
@pytest.mark.parametrize("unit", [(8, 1, 1), (1, 3, 2), (6, 2, 1)])
def test_the_proposed_number_of_prompts_works(prompts: int, unit: tuple[int, int, int]) -> None:
    devices, micro, updates = unit

    def made(number: int) -> TrainSettings:
        optim = {"prompts": number, "micro_batch": micro, "updates": updates}
        group = {"size": 10, "clean": 5}
        return TrainSettings.read(
            {"optim": optim, "group": group, "hardware": {"devices": devices}}
        )

    try:
        batch_arithmetic(made(prompts), 100)
    except UsageError as error:
        proposed = str(error).partition("optim.prompts to ")[2].partition(",")[0].rstrip(".")
        for number in proposed.split(" or "):
            batch_arithmetic(made(int(number)), 100)


def test_batches_divide_as_by_hand() -> None:
    values = {"optim": {"prompts": 8, "updates": 2, "micro_batch": 4, "steps": 7}}
    batch = batch_arithmetic(TrainSettings.read(values), 100)
    assert batch == (100, 128, 128, 16, 2, 7, 896)


def test_validation_tasks_are_spread_over_the_training_tasks() -> None:
    retail = get_domain("retail", None)
    train, aside = training_tasks(retail, TrainSettings.read({"episodes": {"validation": 64}}))
    assert (len(train), len(aside)) == (873, 64)
    assert {task.split for task in (*train, *aside)} == {"train"}
    assert not {task.id for task in train} & {task.id for task in aside}
    assert len({task.intent for task in aside}) == 4


def test_parameters_of_a_known_model() -> None:
    assert KNOWN[QWEN].parameters / 1e9 == pytest.approx(4.02, abs=0.01)
    assert KNOWN["Qwen/Qwen3-8B"].parameters / 1e9 == pytest.approx(8.19, abs=0.01)
    assert KNOWN[QWEN].cache_per_token == 147_456


def test_a_model_on_disk_is_read(tmp_path: Path) -> None:
    values = {
        "hidden_size": 2560,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 9728,
        "vocab_size": 151_936,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(values))
    settings = TrainSettings.read({"model": {"path": str(tmp_path)}})
    assert model_shape(settings.model) == KNOWN[QWEN]
    assert not any("not on this machine" in note for note in plan_run(settings).notes)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hidden_size": "big"}', "\x00"])
def test_a_strange_config_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(DataError, match="does not describe a decoder"):
        model_shape(TrainSettings.read({"model": {"path": str(tmp_path)}}).model)


def test_on_the_cpu_memory_is_estimated_and_time_is_not() -> None:
    made = plan(optim={"prompts": 2})
    names = {table.name for table in made.tables}
    assert "memory" in names
    assert "time" not in names
    assert "available" not in cells(made, "memory")


def test_an_unknown_model_has_no_estimates() -> None:
    made = plan_run(TrainSettings.read({"model": {"path": "someone/else"}}))
    assert not {"memory", "time"} & {table.name for table in made.tables}
    assert any("not known here" in note for note in made.notes)


def paper(**hardware: Any) -> TrainSettings:
    settings = load_settings(CONFIGS / "qwen3_4b_paper.yaml")
    changed = settings.hardware.model_copy(update=hardware)
    return settings.model_copy(update={"hardware": changed})


def test_memory_by_hand() -> None:
    shape = KNOWN[QWEN]
    need = estimate_memory(paper(), shape)
    n = shape.parameters
    assert need.weights == pytest.approx(2 * 2 * n / 8 / GIB, rel=1e-6)  # policy and reference
    assert need.training == pytest.approx((2 + 12) * n / 8 / GIB, rel=1e-6)
    assert need.rollout == pytest.approx(0.4 * 80)
    assert estimate_memory(paper(nodes=2), shape).training == pytest.approx(need.training / 2)


def test_adapters_need_a_fraction_of_the_optimizer() -> None:
    settings = load_settings(CONFIGS / "qwen3_4b_lora_1gpu.yaml")
    shape = KNOWN[QWEN]
    need = estimate_memory(settings, shape)
    assert need.weights == pytest.approx(2 * shape.parameters / GIB)  # no copy for the reference
    assert need.training < 1.0
    # rank 32 over 252 linear maps: 66 million weights
    assert shape.layers * 32 * shape.linear_widths == pytest.approx(66e6, rel=0.01)


def test_time_falls_with_ranks_and_rises_with_the_batch() -> None:
    shape, settings = KNOWN[QWEN], paper()
    one = estimate_time(settings, shape, batch_arithmetic(settings, 937))
    double = paper(nodes=2)
    two = estimate_time(double, shape, batch_arithmetic(double, 937))
    assert two.update == pytest.approx(one.update / 2)
    assert two.rollout < one.rollout
    assert one.hours == pytest.approx(176 * one.iteration / 3600)
