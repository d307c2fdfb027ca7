from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bench2robust.evaluation.config import EvalConfig
from bench2robust.memory import load

CONFIGS = Path(__file__).parents[2] / "configs" / "eval"
PLAY = ("eval", "--seeds", "2", "--modes", "inject")


def test_from_training_episodes_to_a_block_and_its_use(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*PLAY, "--tasks", "train:20", "--out", "train").code == 0
    built = cli("memory", "build", "train", "--out", "deep/own.json")
    assert built.code == 0, built.err
    assert built.out.splitlines()[-1] == "deep/own.json" and "| get_user_details |" in built.out
    memory = load(tmp_path / "deep" / "own.json")
    assert memory.domain == "retail" and memory.episodes == 40

    shown = cli("memory", "show", "deep/own.json")
    mean = memory.recovers("get_user_details", "timeout").mean
    head = "get_user_details:\n  P(episode recovery | error): "
    assert f"{head}timeout={mean:.2f}," in shown.out
    assert "95 %" in cli("memory", "show", "deep/own.json", "--counts").out

    arms = ("--agent", "scripted:memory", "--memory", "none,full:deep/own.json,full+online")
    assert cli(*PLAY, "--tasks", "test:20", *arms, "--out", "test").code == 0
    checked = cli("memory", "show", "deep/own.json", "--run", "test")
    assert checked.code == 0 and "Brier" in checked.out and "Reliability" in checked.out
    other = (tmp_path / "deep/own.json").read_text().replace('"retail"', '"airline"')
    (tmp_path / "other.json").write_text(other)
    refused = cli("memory", "show", "other.json", "--run", "test")
    assert refused.code == 2 and "the memory of airline" in refused.err.replace("\n", " ")

    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    line = f"{len((tmp_path / 'test/episodes.jsonl').read_text().splitlines())}"
    replayed = cli("replay", "../test", line)
    assert replayed.code == 0 and replayed.out.startswith("scripted:memory"), replayed.err
    monkeypatch.chdir(tmp_path)

    refused = cli("memory", "build", "train", "test", "--out", "bad.json")
    assert refused.code == 2 and "training tasks only" in refused.err
    assert not (tmp_path / "bad.json").exists()
    one = cli("memory", "build", "train", "--agent", "scripted:retyr", "--out", "bad.json")
    assert one.code == 2 and "'scripted:retry'" in one.err


def test_the_shown_block_is_the_prompts_own(cli: Any) -> None:
    full = cli("memory", "show", "retail").out
    assert full.startswith("<tool_reliability>\n") and full.endswith("</tool_reliability>\n")
    placebo = cli("memory", "show", "retail", "--variant", "placebo").out
    assert len(placebo) == len(full) != len(cli("memory", "show", "retail", "--stock").out)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("memory", "show", "retial"), "'retail'"),
        (("memory", "show", "none.json"), "none.json"),
        (("memory", "show", "retail", "--variant", "ful"), "'full'"),
        (("memory", "build", "nowhere", "--out", "m.json"), "not a run folder"),
        (("memory", "build", "nowhere", "--out", "m"), ".json"),
        (("eval", "--memory", "ful"), "give one of"),
        (("eval", "--memory", "full:none.json"), "none.json"),
    ],
)
def test_usage_errors_exit_with_2(cli: Any, arguments: tuple[str, ...], says: str) -> None:
    done = cli(*arguments)
    assert done.code == 2 and says in done.err.replace("\n", " ") and "Traceback" not in done.err


def test_the_configurations_of_table_3_and_its_posteriors(cli: Any) -> None:
    beliefs = EvalConfig.read(yaml.safe_load((CONFIGS / "beliefs.yaml").read_text()))
    assert beliefs.tasks == "train"
    small = ("--tasks", "4", "--seeds", "1", "--set", "memory_round=2")
    done = cli("eval", "--config", CONFIGS / "table3.yaml", *small, "--out", "run")
    assert done.code == 0, done.err
    for row in ("Base (no memory)", "Placebo", "Dynamic only", "Static only", "shuffled", "true"):
        assert row in done.out
