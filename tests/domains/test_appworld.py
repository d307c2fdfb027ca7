"""The AppWorld client, against a stand-in of our own that speaks the server's protocol."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, InfrastructureError
from bench2robust.core.solvability import analyse
from bench2robust.core.types import ToolCall
from bench2robust.domains.appworld import AppWorldDomain, load_appworld
from bench2robust.domains.appworld.apis import call_code, gold_calls, read_apis
from bench2robust.domains.conformance import check_domain

_SPEC = importlib.util.spec_from_file_location(
    "appworld_stand_in", Path(__file__).with_name("appworld_stand_in.py")
)
assert _SPEC and _SPEC.loader
stand_in = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(stand_in)

PASSWORDS = ToolCall("supervisor__show_account_passwords", {})
LIKE = ToolCall("tunes__like_song", {"song_id": 1, "access_token": "tok-ida"})


@pytest.fixture
def server() -> Iterator[Any]:
    """A running stand-in."""
    running = stand_in.StandIn()
    yield running
    running.close()


def gold(song: int) -> list[dict[str, Any]]:
    login = {"username": "ida@example.com", "password": "pa55"}
    token = {"access_token": "tok-ida"}
    return [
        {"method": "get", "url": "/supervisor/account_passwords", "data": {}},
        {"method": "post", "url": "/tunes/auth/token", "data": login},
        {"method": "get", "url": "/tunes/songs", "data": token},
        {"method": "post", "url": f"/tunes/songs/{song}/like", "data": token},
        {"method": "post", "url": "/supervisor/message", "data": {"status": "success"}},
    ]


Settings = Callable[..., str]


@pytest.fixture
def settings(tmp_path: Path, server: Any) -> Settings:
    """A function that writes a data folder and the settings file, and returns its path."""
    data = tmp_path / "data"
    (data / "datasets").mkdir(parents=True)
    (data / "datasets" / "train.txt").write_text("like_0\nlike_1\n")
    (data / "datasets" / "dev.txt").write_text("like_2\n")
    for task_id, song in stand_in.WANTED.items():
        folder = data / "tasks" / task_id / "ground_truth"
        folder.mkdir(parents=True)
        (folder / "api_calls.json").write_text(json.dumps(gold(song)))

    def write(**changes: Any) -> str:
        values = {"url": server.url, "root": str(tmp_path), "seconds": 5, **changes}
        file = tmp_path / "appworld.yaml"
        file.write_text("".join(f"{key}: {json.dumps(v)}\n" for key, v in values.items()))
        return str(file)

    return write


@pytest.fixture
def domain(settings: Settings) -> AppWorldDomain:
    """The domain of the stand-in's three tasks."""
    return load_appworld(settings())


def test_the_client_keeps_every_clause(domain: AppWorldDomain) -> None:
    verdicts = {v.clause: v.checks for v in check_domain(domain)}
    assert all(
        verdicts[clause] for clause in ("gold", "live state", "hostile", "isolation", "plan")
    )


def test_what_is_read(domain: AppWorldDomain) -> None:
    assert [(t.id, t.split) for t in domain.tasks()] == [
        ("like_0", "train"), ("like_1", "train"), ("like_2", "test")]  # fmt: skip
    kinds = {spec.name: spec.kind for spec in domain.tools()}
    assert kinds == {"supervisor__show_account_passwords": "read",
                     "supervisor__complete_task": "write", "tunes__login": "read",
                     "tunes__show_songs": "read", "tunes__like_song": "write",
                     "give_up": "generic"}  # fmt: skip
    task = domain.task("like_0")
    assert task.actions[3] == LIKE and "My name is Ida Ray." in task.user.opening
    analysis = analyse(domain, task)
    assert analysis.solved and analysis.reason("S2") == "no fallback class is on the critical path"
    # The token and the password are read from what the agent saw.
    assert analysis.plan.literals[0] < analysis.plan.literals[1]


def test_apps_can_be_chosen(settings: Settings) -> None:
    domain = load_appworld(settings(apps=["supervisor", "tunes"]))
    assert len(domain.tools()) == 6
    with pytest.raises(DataError, match="has no field 'phone'"):
        load_appworld(settings(apps=["phone"]))


def test_sessions_take_turns_on_the_one_world_of_the_server(
    domain: AppWorldDomain, server: Any
) -> None:
    first, second = (domain.session(domain.task(f"like_{n}")) for n in (0, 1))
    token = {"access_token": "tok-ida"}
    assert not first.call(LIKE).is_error
    other = ToolCall("tunes__like_song", {"song_id": 2, **token})
    assert not second.call(other).is_error
    assert not first.call(ToolCall("supervisor__complete_task", {})).is_error
    assert server.requests.count("/initialize") == 3
    assert domain.evaluate(domain.task("like_0"), first, (), ()).success
    assert not domain.evaluate(domain.task("like_1"), second, (), ()).success


def test_a_replay_that_goes_differently_is_no_failure_of_the_agent(
    domain: AppWorldDomain, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (domain.session(domain.task(f"like_{n}")) for n in (0, 1))
    first.call(PASSWORDS)
    second.call(PASSWORDS)
    monkeypatch.setattr(stand_in.World, "supervisor_show_account_passwords", lambda self: [])
    with pytest.raises(InfrastructureError, match="A replay of task like_0 went differently"):
        first.call(PASSWORDS)


def test_an_error_of_an_api_is_an_error_result(domain: AppWorldDomain) -> None:
    session = domain.session(domain.task("like_0"))
    found = session.call(ToolCall("tunes__show_songs", {"access_token": "no"}))
    assert found.is_error and "401" in found.content and "Not authorized" in found.content
    assert session.delta() == {} and session.revision == 0


def raw(value: Any) -> bytes:
    return json.dumps({"output": value}).encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"\xff\xfe\x00binary", "bytes that are no JSON"),
        (b'{"output": NaN}', "bytes that are no JSON"),
        (b"[]", "answered without an output"),
        (b'{"output": 7}', "output is int, not text"),
        (b"", "answered with 0 bytes that are no JSON"),
    ],
)
def test_answers_that_are_none_are_infrastructure_failures(
    domain: AppWorldDomain, server: Any, answer: bytes, told: str
) -> None:
    session = domain.session(domain.task("like_0"))
    server.answer = lambda: answer
    with pytest.raises(InfrastructureError, match=told):
        session.call(PASSWORDS)


@pytest.mark.parametrize(
    ("output", "is_error", "told"),
    [
        ("x" * 5_000_000, True, "is too long: 5000000 characters"),
        ('{"price": NaN}', False, "NaN"),
        ("", False, ""),
        ("Execution successful.\n", False, ""),
        ("caf\ud800".encode("utf-8", "replace").decode(), False, "caf"),
    ],
)
def test_odd_outputs_are_results(
    domain: AppWorldDomain, server: Any, output: str, is_error: bool, told: str
) -> None:
    server.answer = lambda: raw(output)
    found = domain.session(domain.task("like_0")).call(PASSWORDS)
    assert found.is_error is is_error and told in found.content and len(found.content) < 1000


def test_a_server_that_hangs_or_is_gone_is_told(settings: Settings, server: Any) -> None:
    domain = load_appworld(settings(seconds=0.3))
    session = domain.session(domain.task("like_0"))
    server.answer = lambda: time.sleep(1) or b"{}"
    with pytest.raises(InfrastructureError, match=r"did not answer within 0\.3 s \(/execute\)"):
        session.call(PASSWORDS)
    server.close()
    with pytest.raises(InfrastructureError, match=r"cannot be reached.*appworld serve environment"):
        session.call(PASSWORDS)
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        load_appworld(settings())


def test_an_error_of_the_server_is_told(domain: AppWorldDomain, server: Any) -> None:
    session = domain.session(domain.task("like_0"))
    session.call(PASSWORDS)
    server.world = None  # as if it had been started again
    with pytest.raises(InfrastructureError, match=r"status 500: .*active task world is not like_0"):
        session.call(PASSWORDS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"url": None}, "url: Input should be a valid string"),
        ({"port": 9000}, "port: Extra inputs are not permitted"),
        ({"seconds": 0}, "seconds: Input should be greater than 0"),
        ({"train": "nobody"}, "has no nobody.txt"),
    ],
)
def test_wrong_settings_are_named(settings: Settings, change: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        load_appworld(settings(**change))


def test_absent_settings_are_told() -> None:
    with pytest.raises(DataError, match="appworld needs a running server"):
        load_appworld()
    with pytest.raises(DataError, match=r"has no nothing\.yaml"):
        load_appworld("/tmp/nothing.yaml")


def test_tasks_without_a_published_solution_are_flagged(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "data/tasks/like_0/ground_truth/api_calls.json"
    file.unlink()
    domain = load_appworld(settings())
    assert domain.task("like_0").flags == ("no_gold_calls",)
    assert "1 of 3 tasks publish no api_calls.json" in domain.notes[0]
    file.write_text('[{"method": "get", "url": "/tunes/albums", "data": {}}]')
    with pytest.raises(DataError, match="GET /tunes/albums is no API"):
        load_appworld(settings())


def test_names_that_would_be_code_are_refused() -> None:
    docs = {"tunes": {"x(); import os": stand_in.DOCS["tunes"]["login"]}}
    with pytest.raises(DataError, match="is no name of an app or API"):
        read_apis(docs, None, "docs")


@pytest.mark.parametrize(
    "text", ["')); import os; print(('", '"', "\\", "\n", "{}", "é\u2028", "'''"]
)
def test_arguments_are_never_code(text: str) -> None:
    api = read_apis(stand_in.DOCS, None, "docs")["tunes__login"]
    code = call_code(api, {"username": text, "password": "x"})
    assert stand_in.read_call(code) == ("tunes", "login", {"username": text, "password": "x"})


def test_path_parts_become_arguments() -> None:
    apis = read_apis(stand_in.DOCS, None, "docs").values()
    request = {"method": "post", "url": "/tunes/songs/12/like", "data": {"access_token": "t"}}
    assert gold_calls([request], apis, "gold") == (
        ToolCall("tunes__like_song", {"song_id": 12, "access_token": "t"}),
    )
