"""What a model writes is its own: it becomes an action or an observation, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.agents.chat.window import REMOVED
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.store import EPISODES, read_records

ASK = "What is your email?"
Episode = Callable[..., EpisodeRecord]


@pytest.fixture
def episode(fake: Any, play: Any, tmp_path: Path) -> Episode:
    """A function that plays one episode with messages of a model, one after another."""

    def go(*messages: dict[str, Any], finish: str = "stop", **settings: Any) -> EpisodeRecord:
        def policy(body: Any) -> dict[str, Any]:
            turn = sum(message["role"] == "assistant" for message in body["messages"])
            return messages[min(turn, len(messages) - 1)]

        values: dict[str, Any] = {"tasks": 1, "modes": "clean", "max_steps": 4, "concurrency": 1,
                                  "certify": False, **settings}  # fmt: skip
        with fake.Server(policy=policy) as server:
            result = play(tmp_path / "run", server.url, **values)
        go.bodies = server.bodies  # type: ignore[attr-defined]
        (record,) = read_records(result.folder)
        assert record["status"] == "ok", record["reason"]
        assert record["steps"] == 4
        return record

    return go


def _unread(record: EpisodeRecord) -> list[str]:
    return [event["harness"] for event in record["events"] if "harness" in event]


def test_an_unknown_tool_is_answered_by_the_tools(fake: Any, episode: Episode) -> None:
    record = episode({"tool_calls": [fake.call("get_ordr", "{}")]})
    calls = [event for event in record["events"] if "call" in event]
    assert [c["call"] for c in calls] == ["get_ordr"] * 4 and all(c["error"] for c in calls)
    said = episode.bodies[1]["messages"][-1]  # type: ignore[attr-defined]
    assert said["role"] == "tool" and said["tool_call_id"] == "call_0"
    last = episode.bodies[3]["messages"]  # type: ignore[attr-defined]
    answered = [m["tool_call_id"] for m in last if m["role"] == "tool"]
    assert answered == ["call_0", "call_1", "call_2"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [("{order_id: 1", "JSON"), ('"text"', "must be an object"), ("[]", "must be an object")],
)
def test_arguments_that_are_not_json(
    fake: Any, episode: Episode, arguments: str, reason: str
) -> None:
    record = episode({"tool_calls": [fake.call("get_order_details", arguments)]})
    assert len(_unread(record)) == 4 and all(reason in text for text in _unread(record))
    assert (
        record["calls"] == 0
        and arguments in json.loads(record["events"][1]["unread"])[0]["function"]["arguments"]
    )


def test_arguments_as_an_object_are_read(fake: Any, episode: Episode) -> None:
    entry = fake.call("get_order_details", "")
    entry["function"]["arguments"] = {"order_id": "#W1"}
    record = episode({"tool_calls": [entry]})
    assert record["events"][1]["args"] == {"order_id": "#W1"}


def test_two_calls_in_one_message_are_two_steps(fake: Any, episode: Episode) -> None:
    one = fake.call("list_all_product_types", "{}")
    two = fake.call("get_order_details", '{"order_id": "#W1"}', 1)
    record = episode({"content": "Let me look.", "tool_calls": [one, two]})
    names = [event["call"] for event in record["events"] if "call" in event]
    assert names == ["list_all_product_types", "get_order_details"] * 2
    *_, asked, first, second = episode.bodies[1]["messages"]  # type: ignore[attr-defined]
    ids = [c["id"] for c in asked["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]] == ["call_0", "call_1"]
    assert not any("say" in event for event in record["events"])


def test_one_bad_call_spoils_the_message(fake: Any, episode: Episode) -> None:
    good, bad = fake.call("list_all_product_types", "{}"), fake.call("get_order_details", "{")
    record = episode({"tool_calls": [good, bad]})
    assert record["calls"] == 0 and len(_unread(record)) == 4


@pytest.mark.parametrize("message", [{"content": ""}, {"content": None}, {}, {"content": " \n"}])
def test_an_empty_message(episode: Episode, message: dict[str, Any]) -> None:
    assert all("is empty" in text for text in _unread(episode(message)))


@pytest.mark.parametrize("calls", ["nonsense", {"a": 1}, [None], [{"function": 3}], [[]]])
def test_calls_of_a_strange_shape(episode: Episode, calls: Any) -> None:
    assert len(_unread(episode({"content": None, "tool_calls": calls}))) == 4


def test_a_name_that_no_endpoint_takes_back(fake: Any, episode: Episode) -> None:
    record = episode({"tool_calls": [fake.call("get order; rm -rf", "{}")]})
    assert all("no tool with the name" in text for text in _unread(record))


def test_lone_surrogates_are_replaced(episode: Episode) -> None:
    record = episode({"content": "What \ud800 is your email?"})
    assert record["events"][1] == {"say": "What ? is your email?"}


def test_a_call_written_as_text_is_a_call(episode: Episode) -> None:
    text = 'I look.\n```json\n{"name": "list_all_product_types", "arguments": {}}\n```'
    record = episode({"content": text})
    assert record["calls"] == 4 and not _unread(record)
    asked = episode.bodies[1]["messages"][-2]  # type: ignore[attr-defined]
    assert asked["tool_calls"][0]["function"]["name"] == "list_all_product_types"


def test_tools_as_text_for_servers_that_know_none(episode: Episode) -> None:
    call = '{"name": "list_all_product_types", "arguments": {}}'
    record = episode({"content": call}, chat={"tools": "text"})
    assert record["calls"] == 4
    body = episode.bodies[1]  # type: ignore[attr-defined]
    assert "tools" not in body
    system, _, asked, result = body["messages"]
    assert "- list_all_product_types" in system["content"]
    assert asked == {"role": "assistant", "content": call}
    assert result["role"] == "user"
    assert result["content"].startswith("Result of list_all_product_types:\n{")


def test_settings_reach_the_server(episode: Episode) -> None:
    chat = {"temperature": 0.5, "max_tokens": 99, "seed": 7, "extra": {"cache_prompt": False}}
    episode({"content": ASK}, chat=chat, seeds=[3])
    body = episode.bodies[0]  # type: ignore[attr-defined]
    sent = (body["temperature"], body["max_tokens"], body["seed"], body["cache_prompt"])
    assert sent == (0.5, 99, 10, False)
    assert body["model"] == "plan" and "stream" not in body


def test_an_unread_action_is_replayed(fake: Any, episode: Episode, tmp_path: Path) -> None:
    calls = [fake.call("list_all_product_types", "{}")]
    record = episode({"content": ""}, {"tool_calls": calls}, {"content": ASK})
    repeated = Replay(PastRun(tmp_path / "run"), record)
    assert all(step.agrees for step in repeated.steps())
    assert repeated.differences() == [] and repeated.episode.steps == record["steps"]


# ---- context ---------------------------------------------------------------------------------


class Short:
    """A server whose model has little context, and complains as servers do."""

    def __init__(self, fake: Any, limit: int) -> None:
        self.fake, self.limit, self.refused = fake, limit, 0

    def __call__(self, body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = {"tool_calls": [self.fake.call("list_all_product_types", "{}")]}
        return answer


def _server(fake: Any, limit: int) -> Any:
    model = Short(fake, limit)

    class Server(fake.Server):  # type: ignore[misc, name-defined]
        def _good(self, raw: bytes) -> bytes:
            if len(raw) > limit:
                model.refused += 1
                said = "request (9033 tokens) exceeds the available context size"
                answer: bytes = fake.http(400, json.dumps({"error": {"message": said}}))
                return answer
            good: bytes = super()._good(raw)
            return good

    return Server(policy=model), model


def test_a_server_that_says_too_long_gets_less(fake: Any, play: Any, tmp_path: Path) -> None:
    server, model = _server(fake, 25_000)
    with server:
        result = play(tmp_path / "run", server.url, tasks=1, modes="clean", certify=False)
    (record,) = read_records(result.folder)
    assert (record["status"], record["ended"], record["steps"]) == ("ok", "step_limit", 25)
    assert model.refused > 0 and record["model"]["results_cut"] > 0
    assert not record["model"]["context_full"]
    last = server.bodies[-1]["messages"]
    results = [m["content"] == REMOVED for m in last if m["role"] == "tool"]
    assert results[0] and not results[-1]
    assert results == sorted(results, reverse=True)  # the oldest were cut first


def test_what_does_not_fit_is_cut_before_it_is_sent(fake: Any, play: Any, tmp_path: Path) -> None:
    server, model = _server(fake, 10**9)
    settings: dict[str, Any] = {"tasks": 1, "modes": "clean", "certify": False, "max_steps": 12}
    with server:
        play(tmp_path / "long", server.url, **settings)
        whole = [len(orjson.dumps(body)) / 4 for body in server.bodies]  # as it counts tokens
        server.bodies.clear()
        chat = {"context": 5500, "max_tokens": 100}
        result = play(tmp_path / "short", server.url, chat=chat, **settings)
    (record,) = read_records(result.folder)
    assert model.refused == 0 and record["model"]["results_cut"] > 0
    sizes = [len(orjson.dumps(body)) / 4 for body in server.bodies]
    assert max(sizes) < 5500 < max(whole)


def test_a_dialogue_with_nothing_left_to_cut_ends(fake: Any, play: Any, tmp_path: Path) -> None:
    server, _ = _server(fake, 17_000)
    with server:
        server._policy = lambda body: {"content": "word " * 500 + ASK}
        result = play(tmp_path / "run", server.url, tasks=1, modes="clean", certify=False)
    (record,) = read_records(result.folder)
    assert (record["status"], record["ended"]) == ("ok", "agent")
    assert record["model"]["context_full"] and record["steps"] < 25


def test_a_context_too_short_for_the_policy_is_no_agents_failure(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    server, _ = _server(fake, 5_000)
    with server, pytest.raises(UsageError, match="it needs a longer one"):
        play(tmp_path / "run", server.url, tasks=1)
    assert not list(read_records(tmp_path / "run"))


def test_concurrency_changes_no_byte(fake: Any, play: Any, tmp_path: Path) -> None:
    files, most = [], []
    for concurrency in (1, 6):
        with fake.Server(latency=0.01) as server:
            result = play(tmp_path / str(concurrency), server.url, concurrency=concurrency,
                          agents="chat:plan,scripted:naive", tasks=6)  # fmt: skip
        files.append((result.folder / EPISODES).read_bytes())
        most.append(server.busiest)
    assert files[0] == files[1] and most[0] == 1 and 1 < most[1] <= 6


def test_a_model_that_plays_the_plan_does_as_well_as_the_script(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    with fake.Server() as server:
        agents = f"chat:plan,{fake.STRATEGY}"
        result = play(tmp_path / "run", server.url, agents=agents, modes="inject_alt,s3", tasks=6)
    by_agent: dict[str, list[Any]] = {}
    for record in read_records(result.folder):
        by_agent.setdefault(record["agent"], []).append((record["events"], record["reward"]))
    assert len(by_agent) == 2
    one, two = by_agent.values()
    assert one == two
