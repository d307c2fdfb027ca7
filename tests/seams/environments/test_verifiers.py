from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers.v1", reason="verifiers is not installed")

CONFIGS = Path(__file__).parents[3] / "configs" / "verifiers"


def _stream(model: str, text: str) -> bytes:
    said = {"delta": {"role": "assistant", "content": text}, "finish_reason": None}
    over = {"delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    shared = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": model}
    chunks = [
        {**shared, "choices": [{"index": 0, **said}]},
        {**shared, "choices": [{"index": 0, **over}], "usage": usage},
    ]
    lines = [*map(json.dumps, chunks), "[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


class _Model(BaseHTTPRequestHandler):
    """A model that says what it is told to: the n-th answer of a dialogue is its n-th text."""

    scripts: dict[str, list[str]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = asked["messages"]
        opening = next(m["content"] for m in messages if m["role"] == "user")
        said = sum(m["role"] == "assistant" for m in messages)
        body = _stream(asked["model"], self.scripts[opening][said])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.filterwarnings("ignore")  # of the framework's own
def test_an_episode_earns_the_same_reward(
    model: str, played: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.cli.eval import EvalConfig

    from bench2robust.seams.environments import World

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_KEY", "x")
    monkeypatch.setattr(sys, "path", [str(CONFIGS), *sys.path])
    world = World(data="builtin:small")
    # A wrong one and a right one: an episode takes many seconds there.
    for one in (min(played, key=lambda p: p.reward), max(played, key=lambda p: p.reward)):
        opening = world.start(one.task, one.seed, one.scenario).messages[1]["content"]
        monkeypatch.setattr(_Model, "scripts", {opening: one.texts}, raising=False)
        taskset = {
            "id": "bench2robust-v1", "data": "builtin:small", "tasks": [one.task],
            "seeds": [one.seed], "scenarios": [one.scenario],
        }  # fmt: skip
        player = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
        config = EvalConfig.model_validate(
            {
                "env": {"taskset": taskset, "player": player},
                "model": "scripted",
                "client": {"base_url": model, "api_key_var": "LOCAL_KEY"},
                "num_rollouts": 1,
                "push": False,
            }
        )
        (episode,) = asyncio.run(run_eval(config))
        assert episode.ok, episode
        (trace,) = episode.traces
        assert trace.reward == one.reward
