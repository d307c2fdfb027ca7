"""Users that are models: two simulators on the same episodes, and what their faults do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench2robust.core.types import UserScript
from bench2robust.evaluation import cast
from bench2robust.evaluation.model_tables import model_tables, without_flagged
from bench2robust.evaluation.record import record_key
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.store import read_records
from bench2robust.users import STOP

USERS = "scripted,chat:user"


def test_a_model_that_follows_the_script_gives_the_scripts_episodes(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    agents = "chat:plan,scripted:retry"
    with fake.Server(policy=fake.any_policy) as server:
        result = play(tmp_path / "run", server.url, agents=agents, users=USERS, tasks=4)
    assert (result.total, result.broken) == (32, 0)
    records = list(read_records(result.folder))
    by_key = {record_key(r): r for r in records}
    assert len(by_key) == 32
    for record in records:
        agent, user, name = record["agent"].partition(" + user ")
        if user:
            assert name == record["simulator"]["name"] == "chat:user"
            assert record["simulator"]["flags"] == [] and record["simulator"]["tokens"] > 0
            twin = by_key[(agent, *record_key(record)[1:])]
            assert record["events"] == twin["events"]
            assert ("model" in record) == agent.startswith("chat:")
    tables = {table.name: table for table in model_tables(records, result.folder)}
    assert set(tables) == {"models", "requests", "simulators", "users"}
    rows = [row[:2] + row[-1:] for row in tables["users"].rows]
    pair = "scripted, chat:user"
    assert rows == [(a, pair, "100.0") for a in agents.split(",") for _ in ("clean", "inject")]


def test_faults_of_a_simulator_are_flagged_counted_and_left_out(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    def impatient(body: Any) -> dict[str, Any]:
        """End at the agent's first question, in every other task."""
        message: dict[str, Any] = fake.user_policy(body)
        second = len(body["messages"]) > 2
        odd = len(body["messages"][0]["content"]) % 2
        return {"content": f"Bye. {STOP}"} if second and odd else message

    with fake.Server(policy=impatient) as server:
        result = play(tmp_path / "run", server.url, agents="scripted:retry", users=USERS, tasks=12)
    records = list(read_records(result.folder))
    flagged = [r for r in records if "simulator" in r and r["simulator"]["flags"]]
    assert flagged and {tuple(r["simulator"]["flags"]) for r in flagged} == {("ends_early",)}
    assert all(not r["success"] and r["ended"] == "user" for r in flagged)
    kept = without_flagged(records)
    assert len(kept) == len(records) - len(flagged)
    tables = {table.name: table for table in model_tables(records, result.folder)}
    ((agent, counted, early, invented, silent, of_all, unflagged),) = tables["simulators"].rows
    assert agent == "scripted:retry + user chat:user"
    assert counted == f"{100 * len(flagged) / 24:.1f} (24)"
    assert (early, invented, silent) == (str(len(flagged)), "0", "0")
    assert float(of_all) < float(unflagged)
    (clean, _) = tables["users"].rows
    assert float(clean[6]) < 0  # the impatient user costs the agent points


@pytest.mark.parametrize(("state", "flags"), [(True, []), (False, ["ends_early"])])
def test_an_end_after_every_change_is_not_early(state: bool, flags: list[str]) -> None:
    """What is still to be told is the agent's fault; the user ended when the changes were made."""
    turns = [("user", "Hi"), ("assistant", "Shall I go on?"), ("tool", 0), ("user", STOP)]
    episode: Any = SimpleNamespace(
        turns=turns,
        outcome=lambda: SimpleNamespace(state=state, success=False),
        task=SimpleNamespace(user=UserScript("Hi")),
    )
    user: Any = SimpleNamespace(silences=0)
    assert cast._flags(episode, user) == flags


def test_an_episode_with_a_model_as_user_is_replayed(fake: Any, play: Any, tmp_path: Path) -> None:
    def wordy(body: Any) -> dict[str, Any]:
        return {"content": f"Well, well. {fake.user_policy(body)['content']}"}

    with fake.Server(policy=wordy) as server:
        settings = {"agents": "scripted:retry", "users": "chat:user", "tasks": 2}
        result = play(tmp_path / "run", server.url, **settings)
    for record in read_records(result.folder):
        repeated = Replay(PastRun(result.folder), record)
        assert all(step.agrees for step in repeated.steps())
        assert repeated.episode.opening.startswith("Well, well.")
        assert repeated.differences() == []


def test_a_replay_needs_no_key_and_misses_what_the_user_said(
    fake: Any, play: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "a key that is long enough")
    with fake.Server(policy=fake.user_policy) as server:
        settings = {"agents": "scripted:retry", "users": "chat:user", "tasks": 1, "modes": "clean"}
        result = play(tmp_path / "run", server.url, chat={"api_key_env": "SOME_KEY"}, **settings)
    monkeypatch.delenv("SOME_KEY")
    (record,) = read_records(result.folder)
    assert "simulator" in record
    assert list(Replay(PastRun(result.folder), record).steps())
    say = next(n for n, event in enumerate(record["events"]) if "say" in event)
    del record["events"][say + 1]
    repeated = Replay(PastRun(result.folder), record)
    assert not all(step.agrees for step in repeated.steps())
    assert any(text.startswith("events ") for text in repeated.differences())


@pytest.mark.parametrize("flag", [[], ["--exclude-flagged"]])
def test_the_command_line(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, flag: list[str]
) -> None:
    from bench2robust.cli import main

    def dumb(body: Any) -> dict[str, Any]:
        return {"content": STOP}

    with fake.Server(policy=dumb) as server:
        arguments = ["eval", "--agent", "scripted:retry", "--user", "scripted", "--user",
                     "chat:user", "--user-base-url", server.url, "--tasks", "3", "--modes",
                     "clean", "--seeds", "1", "--out", str(tmp_path / "run"), *flag]  # fmt: skip
        monkeypatch.setattr("sys.argv", ["bench2robust", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    out = capsys.readouterr().out
    assert "Dependence on the simulated user" in out and "Faults of simulated users" in out
    rates = out.partition("Faults landed")[0].partition("Pass rate")[2].partition("###")[0]
    assert ("+ user chat:user" in rates) is not bool(flag)
    assert ("3 flagged episodes are left out" in out) is bool(flag)
