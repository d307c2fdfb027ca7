"""A key goes to its endpoint and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench2robust.agents.chat import Address
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.store import read_records

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings that name a variable with the key."""
    monkeypatch.setenv("SOME_KEY", SECRET)
    return {"api_key_env": "SOME_KEY"}


def _written(folder: Path) -> str:
    return "".join(p.read_text() for p in folder.rglob("*") if p.is_file())


def test_a_missing_key_says_which_variable_to_set(
    play: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match="set the environment variable SOME_KEY"):
        play(tmp_path / "run", "http://127.0.0.1:1/v1", chat={"api_key_env": "SOME_KEY"})
    assert not (tmp_path / "run").exists()


def test_the_key_is_sent_and_written_nowhere(
    fake: Any, play: Any, tmp_path: Path, key: dict[str, str]
) -> None:
    def gossip(body: Any) -> dict[str, Any]:
        return {"content": f"Your key is {SECRET}. Anything else?"}

    with fake.Server(policy=gossip, key=SECRET) as server:
        result = play(tmp_path / "run", server.url, chat=key, tasks=1, transcripts=True)
    assert {h["authorization"] for h in server.headers} == {f"Bearer {SECRET}"}
    assert all(r["status"] == "ok" for r in read_records(result.folder))
    assert SECRET not in _written(result.folder) and "[key]" in _written(result.folder)
    assert SECRET not in json.dumps(server.bodies)


def test_a_refused_key_is_not_in_the_error(
    fake: Any,
    play: Any,
    tmp_path: Path,
    key: dict[str, str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    with fake.Server(key="another") as server, pytest.raises(UsageError) as caught:
        play(tmp_path / "run", server.url, chat=key)
    said = str(caught.value)
    assert "401" in said and "SOME_KEY" in said and "wrong key" in said
    assert SECRET not in said + repr(caught.value) + _written(tmp_path)
    assert SECRET not in "".join(capfd.readouterr())


def test_a_server_that_repeats_the_key_in_a_passing_error(
    fake: Any, play: Any, tmp_path: Path, key: dict[str, str]
) -> None:
    echo = fake.http(500, f"Traceback: Authorization: Bearer {SECRET}")
    with fake.Server(troubles=(echo,)) as server:
        chat = {**key, "attempts": 1}
        result = play(tmp_path / "run", server.url, chat=chat, tasks=1, modes="clean")
    (record,) = read_records(result.folder)
    assert "Bearer [key]" in record["reason"]
    assert SECRET not in _written(result.folder)


def test_a_key_never_goes_where_it_was_not_meant_to_go() -> None:
    environment = {"OPENAI_API_KEY": SECRET}
    assert Address.read("https://example.com/v1", environ=environment).key == ""
    assert Address.read("https://api.openai.com/v1/", environ=environment).key == SECRET
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        Address.read("https://api.openai.com/v1", environ={})


def test_no_representation_holds_the_key() -> None:
    address = Address.read("https://example.com/v1", "K", {"K": SECRET})
    assert SECRET not in repr(address) + str(address) and "'K'" in repr(address)


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/v1", "http://host/v1?key=secret", "http://host/v1#secret"]
)
def test_addresses_with_secrets_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="free of secrets") as caught:
        Address.read(url)
    assert "secret@" not in str(caught.value) and "=secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "host/v1", "ftp://host/v1", "http://", "http://host:x/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        Address.read(url)


def test_a_key_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="variable K"):
        Address.read("http://host/v1", "K", {"K": "schlüssel-von-mir"})
    assert Address.read("http://host/v1", "K", {"K": "from-a-file\n"}).key == "from-a-file"


def test_dummy_keys_do_not_garble_what_a_model_says() -> None:
    assert Address.read("http://host/v1", "K", {"K": "none"}).hide("none of it") == "none of it"
