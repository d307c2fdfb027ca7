from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.training.config import TrainSettings, load_settings

CONFIGS = sorted((Path(__file__).parents[2] / "configs" / "train").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_configuration_is_read(path: Path) -> None:
    assert load_settings(path).method in ("dapo", "grpo", "sft", "ppo")


def test_the_defaults_are_table_12() -> None:
    made = TrainSettings.read({})
    assert (made.group.size, made.group.clean, made.optim.prompts) == (16, 8, 16)
    assert (made.optim.kl, made.optim.epsilon_low, made.optim.epsilon_high) == (0.02, 0.20, 0.28)
    assert (made.optim.learning_rate, made.optim.epochs) == (2e-6, 3)
    assert (made.rollout.response_tokens, made.rollout.context) == (8192, 32_768)
    assert (made.episodes.max_steps, made.group.min_std) == (25, 0.01)
    assert not made.reward.abstention
    assert made.schedule().name == "table11"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"optm": {}}, "Did you mean 'optim'"),
        ({"optim": {"learnig_rate": 1}}, "setting in optim 'learnig_rate'. Did you mean 'learn"),
        ({"model": {"lora": {"rnk": 3}}}, "setting in model.lora 'rnk'. Did you mean 'rank'"),
        ({"episodes": {"user_chat": {"base_ulr": "x"}}}, "Did you mean 'base_url'"),
        ({"launch": {"partion": "a"}}, "Did you mean 'partition'"),
        ({"method": "dpao"}, "Did you mean 'dapo'"),
        ({"curriculum": "table12"}, "Did you mean 'table11'"),
        ({"group": {"mix": "hybird"}}, "Did you mean 'hybrid'"),
        ({"episodes": {"domain": "retial"}}, "Did you mean 'retail'"),
        ({"sft": {"demonstrations": {"scripted:retri": 1}}}, "Did you mean 'scripted:retry"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(values: Any, words: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        TrainSettings.read(values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"optim": {"learning_rate": -1}}, "optim.learning_rate: "),
        ({"group": {"size": 1}}, "group.size: "),
        ({"rollout": {"vllm_memory": 1.0}}, "rollout.vllm_memory: "),
        ({"sft": {"demonstrations": {"scripted:retry": 0}}}, "every share is 0"),
        ({"launch": {"partition": "a b"}}, "launch.partition: "),
        ({"launch": {"name": "x; rm -rf /"}}, "launch.name: "),
        ({"launch": {"env": {"A=B": "c"}}}, "launch.env"),
        ({"seed": "one"}, "seed: "),
    ],
)
def test_bad_values_are_named(values: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        TrainSettings.read(values)
    assert words in str(caught.value)


def test_an_empty_group_means_its_defaults() -> None:
    assert TrainSettings.read({"optim": None}) == TrainSettings.read({})


def test_settings_go_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("optim:\n  kl: 0.1\n  prompts: 3\n")
    made = load_settings(path, ["optim.kl=0", "group.size=4", "group.clean=2"])
    assert (made.optim.kl, made.optim.prompts, made.group.size) == (0.0, 3, 4)


def test_the_hash_is_of_what_decides_the_run() -> None:
    plain = TrainSettings.read({})
    same = {"out": "x", "hardware": {"nodes": 2, "devices": 8}, "launch": {"minutes": 5}}
    assert TrainSettings.read(same).hash() == plain.hash()
    for other in ({"seed": 1}, {"curriculum": "linear"}, {"optim": {"kl": 0.0}}):
        assert TrainSettings.read(other).hash() != plain.hash()


def test_a_curriculum_is_hashed_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    hashes = set()
    for budget in (2, 3):
        path.write_text(f"phases:\n  - {{name: a, max_injections: {budget}, mix: {{S1: 1}}}}\n")
        hashes.add(TrainSettings.read({"curriculum": str(path)}).hash())
    assert len(hashes) == 2


@pytest.mark.parametrize("group", ["episodes", "held_out"])
def test_a_fault_profile_is_read_at_once_and_what_it_says_counts(
    group: str, tmp_path: Path
) -> None:
    file = tmp_path / "faults.yaml"

    def made(name: str) -> TrainSettings:
        return TrainSettings.read({group: {"faults": name}})

    with pytest.raises(UsageError, match="nope"):
        made("nope")
    file.write_text("base: paper\nclean: 0.5\n")
    before = made(str(file)).hash()
    assert made(str(file)).hash() == before
    file.write_text("base: paper\nclean: 0.6\n")
    assert made(str(file)).hash() != before, "a file that was edited is another setting"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"held_out": {"temperatures": [1.0, 1.0]}}, "each temperature once"),
        ({"held_out": {"temperatures": []}}, "temperatures"),
        ({"sft": {"words": {"recovery": {"done": 0.9, "invent": 0.9}}}}, "shares sum to 1.8"),
    ],
)
def test_what_would_only_show_at_the_end_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TrainSettings.read(values)
