"""Sessions over HTTP: what they share, and what each has to itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench2robust.seams.proxy import sessions as module
from bench2robust.seams.proxy.passage import Rules
from bench2robust.seams.proxy.session import Session
from bench2robust.seams.proxy.sessions import Sessions
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.seam import Seam

DOWN = {"probabilities": {"server_error": 1.0}, "budget": 1}


class Made:
    """Sessions, and the seams that were made for them."""

    def __init__(self, **options: Any) -> None:
        self.seams: list[Seam] = []
        self.said: list[str] = []
        self._options = options
        self.sessions = Sessions(self._make, self.said.append)

    def _make(self) -> Session:
        self.seams.append(Seam(**self._options))
        return Session(self.seams[-1], lambda delivery: None, self.said.append)


def ask(rules: Rules, identity: int, tool: str = "get") -> None:
    message = {"id": identity, "method": "tools/call", "params": {"name": tool}}
    assert rules.from_client(json.dumps(message).encode()).back is None


def text(rules: Rules, identity: int, said: str = "true") -> str:
    content = [{"type": "text", "text": said}]
    frame = rules.from_server(json.dumps({"id": identity, "result": {"content": content}}).encode())
    return str(json.loads(frame)["result"]["content"][0]["text"])


def test_a_session_goes_on_and_another_is_an_episode_of_its_own() -> None:
    made = Made(faults=DOWN)
    with made.sessions.open("a") as rules:
        ask(rules, 1)
    with made.sessions.open("a") as rules:
        assert "HTTP 5" in text(rules, 1)
        ask(rules, 2)
        assert text(rules, 2) == "true"  # the budget of a is spent
    with made.sessions.open("b") as rules:
        ask(rules, 1)
        assert "HTTP 5" in text(rules, 1)
    assert [seam.calls for seam in made.seams] == [2, 1]


def test_requests_without_a_session_share_an_episode_but_no_ids() -> None:
    made = Made(faults={"schedule": [{"fault": "server_error", "tools": "other"}]})
    with made.sessions.open(None) as first, made.sessions.open(None) as second:
        ask(first, 1, "get")
        ask(second, 1, "other")
        assert text(first, 1) == "true"
        assert "HTTP 5" in text(second, 1)
    assert [seam.calls for seam in made.seams] == [2]


def test_a_request_that_is_given_up_gives_its_fault_back() -> None:
    made = Made(faults=DOWN)
    with made.sessions.open(None) as rules:
        ask(rules, 1)
    with made.sessions.open(None) as rules:
        ask(rules, 1)
        assert "HTTP 5" in text(rules, 1)


def test_sessions_that_end_are_written_and_the_oldest_do(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    record = tmp_path / "record"
    made = Made(record=record)
    for name in ("a", "b", "c"):
        with made.sessions.open(name) as rules:
            ask(rules, 1, name)
            text(rules, 1)
    assert [e["events"][0]["call"] for e in read_episodes(record)] == ["a"]  # it made room
    made.sessions.close("c")
    made.sessions.close("unknown")
    with made.sessions.open(None):
        pass  # an episode without a call is none
    made.sessions.close_all()
    assert [e["events"][0]["call"] for e in read_episodes(record)] == ["a", "c", "b"]
