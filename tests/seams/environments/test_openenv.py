from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("openenv", reason="openenv is not installed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import uvicorn

    from bench2robust.seams.environments.openenv_server import app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(app(data="builtin:small"), port=port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_an_episode_earns_the_same_reward(address: str, played: list[Any]) -> None:
    from openenv import GenericEnvClient

    for one in played:
        with GenericEnvClient(base_url=address).sync() as client:
            began = client.reset(task=one.task, seed=one.seed, scenario=one.scenario)
            roles = [message["role"] for message in began.observation["messages"]]
            assert roles == ["system", "user"]
            *before, last = [client.step({"text": text}) for text in one.texts]
            assert not any(result.done or result.reward for result in before)
            assert last.done and last.reward == one.reward


def test_sessions_are_apart(address: str, played: list[Any]) -> None:
    from openenv import GenericEnvClient

    one = played[0]
    with (
        GenericEnvClient(base_url=address).sync() as a,
        GenericEnvClient(base_url=address).sync() as b,
    ):
        first = a.reset(task=one.task, seed=one.seed, scenario=one.scenario)
        other = b.reset(seed=one.seed + 1)
        a.step({"text": one.texts[0]})
        assert first.observation["text"] != other.observation["text"]
        assert b.state()["step_count"] == 0
