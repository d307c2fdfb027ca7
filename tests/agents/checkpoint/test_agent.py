"""Whole evaluations with checkpoints: counted, resumed, and never blamed for the machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, GenerationMixin

import bench2robust
from bench2robust.agents.checkpoint import LoadError
from bench2robust.core.chat import RunStoppedError
from bench2robust.core.errors import DataError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.request_log import read_requests, request_totals
from bench2robust.evaluation.runner import make_job
from bench2robust.evaluation.store import EPISODES, read_records

CALL = '<tool_call>{"name": "get_order_details", "arguments": {"order_id": "#W1"}}</tool_call>'
PROGRAM = "from bench2robust.cli import main; main()"


class StoppedError(Exception):
    """The run was stopped from outside."""


def test_calls_in_its_own_format_are_made(looker: Path, play: Any, tmp_path: Path) -> None:
    result = play(tmp_path / "run", looker, modes="clean,inject,inject_alt")
    records = list(read_records(result.folder))
    assert len(records) == 9 and result.broken == 0
    for record in records:
        assert {e["call"] for e in record["events"][1:]} == {"get_order_details"}
        assert record["calls"] == record["model"]["requests"] == 3
        assert record["model"]["completion_tokens"] == 6  # the call and the end, three times
        assert record["model"]["prompt_tokens"] > 3 * 1000  # the policy alone
        assert record["tokens"] == record["model"]["prompt_tokens"] + 6
        assert record["model"]["estimated"] == 0 and record["cost"] is None
    totals = request_totals(result.folder)
    assert totals.answered == 27 and totals.tokens == sum(r["tokens"] for r in records)
    replay = Replay(PastRun(result.folder), records[-1])
    assert all(step.agrees for step in replay.steps()) and not replay.differences()


def test_tools_described_in_words(save: Any, play: Any, tmp_path: Path) -> None:
    words = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    model = save(tmp_path / "model", says=CALL, template=words)
    with pytest.raises(LoadError, match="does not show tools"):
        play(tmp_path / "run", model)
    result = play(tmp_path / "other", model, checkpoint={"tools": "text"})
    assert all(r["calls"] == 3 for r in read_records(result.folder))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_batches_and_interruptions_change_no_record(
    random_model: Path, play: Any, tmp_path: Path, temperature: float
) -> None:
    def stop(done: int) -> None:
        if done == 2:
            raise StoppedError

    settings = {"temperature": temperature}
    alone = play(tmp_path / "alone", random_model, checkpoint={**settings, "batch_size": 1})
    with pytest.raises(StoppedError):
        play(tmp_path / "run", random_model, checkpoint=settings, progress=stop)
    result = play(tmp_path / "run", random_model, checkpoint=settings)
    assert 0 < result.played < 6
    expected = (alone.folder / EPISODES).read_bytes()
    assert (result.folder / EPISODES).read_bytes() == expected
    said = {str(r["events"][1:]) for r in read_records(result.folder)}
    assert len(said) > 1  # it does not say the same whatever it reads


# peft asks the model in a way that transformers is about to rename.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_is_played_over_its_base(random_model: Path, play: Any, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(random_model)
    tuned = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=4))
    tuned.save_pretrained(tmp_path / "adapter")
    adapted = play(tmp_path / "adapted", tmp_path / "adapter", modes="clean")
    plain = play(tmp_path / "plain", random_model, modes="clean")
    merged = tuned.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    for file in random_model.glob("*token*"):
        shutil.copy(file, tmp_path / "merged")
    shutil.copy(random_model / "chat_template.jinja", tmp_path / "merged")
    same = play(tmp_path / "same", tmp_path / "merged", modes="clean")
    said = [[r["events"] for r in read_records(run.folder)] for run in (adapted, same, plain)]
    assert said[0] == said[1] != said[2]


def test_episodes_move_in_lockstep(
    looker: Path, play: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate, sizes = GenerationMixin.generate, []

    def counted(self: Any, **given: Any) -> Any:
        sizes.append(len(given["input_ids"]))
        return generate(self, **given)

    monkeypatch.setattr(GenerationMixin, "generate", counted)
    play(tmp_path / "run", looker)
    assert sizes == [4, 4, 4, 2, 2, 2]  # six episodes of three messages each
    sizes.clear()
    play(tmp_path / "wide", looker, concurrency=6)
    assert sizes == [4, 4, 4, 4, 2]


def test_a_long_dialogue_is_cut_and_noted(looker: Path, play: Any, tmp_path: Path) -> None:
    whole = play(tmp_path / "whole", looker, tasks=1, modes="clean", max_steps=12)
    (record,) = read_records(whole.folder)
    first, last = (row["prompt"] for row in list(read_requests(whole.folder))[::11])
    narrow = play(tmp_path / "run", looker, tasks=1, modes="clean", max_steps=12,
                  checkpoint={"context": (first + last) // 2})  # fmt: skip
    (cut,) = read_records(narrow.folder)
    assert cut["status"] == "ok" and record["model"]["results_cut"] == 0
    assert cut["model"]["results_cut"] + cut["model"]["context_full"] > 0


def test_a_context_that_cannot_hold_the_policy(looker: Path, play: Any, tmp_path: Path) -> None:
    with pytest.raises(RunStoppedError, match=r"policy and the tools .* checkpoint.context"):
        play(tmp_path / "run", looker, checkpoint={"context": 512})
    with pytest.raises(UsageError, match="was made for 16384 tokens: give at most that"):
        play(tmp_path / "run", looker, checkpoint={"context": 20_000})


def test_no_memory_is_never_a_failure_of_the_agent(
    looker: Path, play: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scarce(*given: Any, **more: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(GenerationMixin, "generate", scarce)
        result = play(tmp_path / "run", looker)
    records = list(read_records(result.folder))
    assert result.broken == 6 and {r["status"] for r in records} == {"infra_error"}
    assert all("checkpoint.batch_size" in r["reason"] for r in records)
    assert request_totals(result.folder).troubles["OutOfMemoryError"] == 6
    again = play(tmp_path / "run", looker)
    assert (again.played, again.broken) == (6, 0)


def test_other_weights_do_not_go_on_with_a_run(
    random_model: Path, looker: Path, play: Any, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(random_model, tmp_path / "model"))
    play(tmp_path / "run", model, tasks=1)
    pinned = read_manifest(tmp_path / "run")["config"]
    assert list(pinned["checkpoint"]["fingerprints"]) == [str(model)]
    shutil.copy(looker / "model.safetensors", model)
    with pytest.raises(UsageError, match=r"another run.*checkpoint\.fingerprints\.\S+: '"):
        play(tmp_path / "run", model, tasks=1)
    with pytest.raises(DataError, match="has changed since its fingerprint was taken"):
        play(tmp_path / "other", model, tasks=1,
             checkpoint={"fingerprints": pinned["checkpoint"]["fingerprints"]})  # fmt: skip


def test_a_replay_needs_no_weights(looker: Path, play: Any, tmp_path: Path) -> None:
    model = Path(shutil.copytree(looker, tmp_path / "model"))
    result = play(tmp_path / "run", model, tasks=1, modes="clean")
    shutil.rmtree(model)
    (record,) = read_records(result.folder)
    replay = Replay(PastRun(result.folder), record)
    assert all(step.agrees for step in replay.steps())


def test_what_does_not_decide_results_is_not_hashed(looker: Path) -> None:
    def of(**weights: Any) -> str:
        values = {"agents": f"checkpoint:{looker}", "checkpoint": weights}
        job = make_job(EvalConfig.read(values), get_domain("retail"))
        return job.config.hash("suite")

    assert of() == of(batch_size=2, device_map="cpu")
    assert len({of(), of(temperature=1.0), of(seed=1), of(dtype="float32"), of(tools="text")}) == 5


def test_weights_that_are_missing_are_not_made_up(
    random_model: Path, play: Any, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    model = Path(shutil.copytree(random_model, tmp_path / "model"))
    weights = load_file(model / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(LoadError, match=r"lacks weights of the model: .*up_proj"):
        play(tmp_path / "run", model)
    (model / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(LoadError, match="cannot be loaded"):
        play(tmp_path / "other", model)


def test_the_command_line(random_model: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(random_model, tmp_path / "model"))
    (model / "chat_template.jinja").unlink()
    command = [sys.executable, "-c", PROGRAM, "eval", "--agent", f"checkpoint:{model}",
               "--dtype", "float32", "--batch-size", "3", "--dry-run"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1])}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "--chat-template FILE" in " ".join(refused.stderr.split())
    command += ["--chat-template", str(random_model / "chat_template.jinja")]
    given = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert given.returncode == 0, given.stderr
    assert "dtype float32, batches of 3" in given.stdout and "endpoint" not in given.stdout


@pytest.mark.slow
def test_a_killed_run_goes_on(random_model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "eval", "--agent", f"checkpoint:{random_model}",
               "--tasks", "8", "--seeds", "1", "--modes", "clean,inject", "--max-steps", "3",
               "--batch-size", "3", "--set", "checkpoint.max_new_tokens=8", "--set",
               "certify=false"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1]),
                   "OMP_NUM_THREADS": "1"}  # fmt: skip

    def start(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, "--out", str(tmp_path / name)], env=environment,
                                stdout=subprocess.DEVNULL)  # fmt: skip

    assert start("whole").wait(300) == 0
    killed, file = start("killed"), tmp_path / "killed" / EPISODES
    while killed.poll() is None and not (file.exists() and file.stat().st_size):
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(60) == -signal.SIGKILL
    assert start("killed").wait(300) == 0
    assert file.read_bytes() == (tmp_path / "whole" / EPISODES).read_bytes()
