from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench2robust.cli.train import read_settings

CONFIGS = Path(__file__).parents[2] / "configs" / "train"
PAPER = CONFIGS / "qwen3_4b_paper.yaml"


def test_a_dry_run_prints_table_12_and_writes_nothing(cli: Any, tmp_path: Path) -> None:
    done = cli("train", "--config", PAPER, "--dry-run")
    assert done.code == 0
    for row in (
        "| Global batch size | 256 (16 prompts × 16 rollouts) |",
        "| KL loss | low_var_kl, coefficient 0.02 |",
        "| Training data | 937 tasks (retail) |",
        "| 5 | full | 5 | 30/45/25 |",
        "| backward passes per rank and step | 32 |",
    ):
        assert row in done.out
    assert "note: Qwen/Qwen3-4B-Thinking-2507 is not on this machine" in done.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["optim.prompts=5", "hardware.nodes=3"], "set optim.prompts to 3 or 6"),
        (["rollout.context=12000"], "set context to at least"),
        (["model.path=./missing"], "give a folder with a config.json"),
        (["optim.learning_rat=1"], "Did you mean 'learning_rate'"),
    ],
)
def test_what_cannot_work_ends_with_code_2(cli: Any, settings: list[str], words: str) -> None:
    flags = [part for setting in settings for part in ("--set", setting)]
    for command in ("train", "launch"):
        done = cli(command, "--config", PAPER, "--dry-run", *flags)
        assert done.code == 2
        assert words in done.err


def test_a_dry_run_of_a_study_lists_its_runs(cli: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(CONFIGS.parents[1])  # a study names its base from where it is called
    done = cli(
        "study", "--config", "configs/study/cpu_demo.yaml", "--set", "seeds=[9]", "--dry-run"
    )
    assert done.code == 0
    assert "| ours | 9 | runs/" in done.out and "ours-9 | to do |" in done.out
    assert "0 of " in done.out and "compared with: ours." in done.out


def test_a_launch_prints_the_script_and_nothing_else(cli: Any, tmp_path: Path) -> None:
    done = cli("launch", "--config", PAPER, "--dry-run", "--set", "hardware.nodes=4")
    assert done.code == 0
    assert done.out.startswith("#!/bin/bash\n")
    assert "#SBATCH --nodes=4\n" in done.out
    assert f"--config {tmp_path}/runs/train-" in done.out
    assert not list(tmp_path.iterdir())
    task = yaml.safe_load(cli("launch", "--config", PAPER, "-b", "skypilot", "--dry-run").out)
    assert task["resources"]["accelerators"] == "H100:8"


def test_an_unknown_backend_is_answered_with_the_nearest(cli: Any) -> None:
    done = cli("launch", "--config", PAPER, "-b", "slrm", "--dry-run")
    assert done.code == 2
    assert "Did you mean 'slurm'" in done.err


def test_a_job_that_fails_here_says_so(cli: Any) -> None:
    done = cli(
        *("launch", "--config", CONFIGS / "recovery_ppo.yaml", "-b", "local"),
        *("--set", "launch.setup=[exit 3]", "--out", "here"),
    )
    assert done.code == 3
    assert "The job ended with exit code 3" in done.err


def test_python_m_is_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench2robust", "train", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--dry-run" in done.stdout


def test_the_folder_is_what_was_typed() -> None:
    for typed in ("runs/a #2", "2024", "a: b", "[x]", "é \U0001f600"):
        assert read_settings(None, None, typed).folder == Path(typed)
