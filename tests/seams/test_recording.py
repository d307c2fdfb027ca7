"""What a seam writes down, that it holds no secret, and that its faults can be repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.record_check import problem
from bench2robust.injectors.profiles import load_profile
from bench2robust.seams.recording import Recorder
from bench2robust.seams.redact import REDACTED, Redaction
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.seam import Seam
from tests.seams.shop import NAMES, ORDER, TOOLS, Shop, carry

CALLS = [ToolCall(NAMES[i % 3], {"order_id": f"#W{i % 5}"}) for i in range(40)]


def recorded(path: Path, calls: list[ToolCall] = CALLS, **options: Any) -> Seam:
    seam = Seam(TOOLS, record=path, task="night", **options)
    with seam:
        for call in calls:
            carry(seam, call)
    return seam


def test_a_record_is_an_episode_record_with_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "record.jsonl"
    rule = {"fault": "partial", "tools": ["get_order"], "nth": 1}
    faults = {"base": "paper", "schedule": [rule]}
    options = {"faults": faults, "seed": 3, "blocked": {"find_user"}, "contract": "declared"}
    seam = recorded(path, **options)
    (record,) = read_episodes(path)
    assert problem(record) == ""
    assert (record["task"], record["seed"], record["mode"]) == ("night", 3, "seam")
    assert record["calls"] == 40 and len(record["events"]) == 40
    assert record["blocked"] == ["find_user"] and record["realized"] == "S1"
    ledger = [(e.index, e.tool, e.planned, e.delivered) for e in seam.ledger]
    rows = record["faults"]
    assert [(r["step"], r["tool"], r["planned"], r["delivered"]) for r in rows] == ledger
    assert {r["delivered"] for r in rows} >= {"partial"}
    partial = next(r for r in rows if r["delivered"] == "partial")
    assert ["items", ["lamp"], []] in partial["changes"]
    silent = [(s["step"], s["fault"]) for s in record["monitor"]["silent"]]
    assert silent == [(r["step"], r["delivered"]) for r in rows if r["changes"]]
    assert record["status"] == "not_applicable", "nobody said whether the task succeeded"
    assert [p.name for p in path.parent.iterdir()] == ["record.jsonl"], "no scratch file is left"


def test_a_verdict_makes_a_scored_record_and_episodes_add_up(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    for success in (True, False):
        seam = Seam(TOOLS, record=path)
        carry(seam, CALLS[0])
        seam.close(success, agent="mine")
        seam.close(not success)
    first, second = read_episodes(path)
    assert (first["status"], first["success"], first["reward"]) == ("ok", True, 1.0)
    assert (second["status"], second["success"], second["agent"]) == ("ok", False, "mine")


def test_a_lost_call_and_overlapping_ones_stand_in_the_order_of_their_beginning(
    tmp_path: Path,
) -> None:
    seam = Seam(TOOLS, record=tmp_path / "r")
    lost, late, soon = (seam.before(ToolCall("get_order", {"n": n})) for n in range(3))
    seam.after(soon, ToolResult("soon"))
    seam.after(late, ToolResult("late"))
    seam.drop(lost)
    seam.close()
    (record,) = read_episodes(tmp_path / "r")
    assert [e["args"]["n"] for e in record["events"]] == [0, 1, 2]
    assert [e["content"][:4] for e in record["events"]] == ["[no ", "late", "soon"]
    assert record["seam"]["lost"] == 1


def test_a_receipt_is_written_with_what_the_agent_did_then(tmp_path: Path) -> None:
    seam = Seam(TOOLS, record=tmp_path / "r", contract="declared")
    call = ToolCall("get_order", {"order_id": "#W11"})
    carry(seam, call, Shop(ORDER.replace("delivered", "lost")))
    carry(seam, call)
    seam.close()
    (record,) = read_episodes(tmp_path / "r")
    (row,) = record["monitor"]["receipts"]
    assert (row["codes"], row["action"], row["same_arguments"]) == (
        ["unseen_category"], "retry", True,
    )  # fmt: skip
    assert row["raw_sha256"] != row["delivered_sha256"]
    assert record["seam"]["receipts"] == 1


SECRETS = {
    "password": "hunter22",
    "apiKey": "k-1",
    "X-Api-Key": "k-2",
    "client_secret": "c-3",
    "Authorization": "Basic dXNlcjpwYXNz",
    "session_id": 77,
}
TEXTS = [
    "Bearer abcdef0123456789",
    "sk-proj-abcdefghij0123456789",
    "ghp_abcdefghijklmnopqrst0123",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig_nature-1",
    "postgres://user:pa55word@host/db",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
    "4111 1111 1111 1111",
    "password=hunter22",
    '"token": "hunter22"',
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_looks_like_a_secret_is_taken_out(text: str) -> None:
    redaction = Redaction()
    clean = redaction.text(f"it is {text}, yes")
    secret = text.split()[-1] if text.startswith("Bearer") else text[-8:]
    assert REDACTED in clean and clean.startswith("it is ") and redaction.count == 1
    assert secret not in clean.replace("host/db", "")


@pytest.mark.parametrize(
    "text",
    ["order 1234567890", "2026-01-01T00:00:00Z", "the token is gone", "1234567812345678", "#W11"],
)
def test_a_plain_text_stays(text: str) -> None:
    assert Redaction().result(text) == text


@settings(max_examples=30)
@given(st.recursive(st.none() | st.integers() | st.text("ab #1"), lambda x: st.lists(x)))
def test_a_value_without_secrets_stays(value: Any) -> None:
    assert Redaction().value({"order": value}) == {"order": value}


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    answer = json.dumps({"order_id": "1", "user": {"api_key": "k-4", "name": "Mei Cust-123"}})
    silent = {"probabilities": {"partial": 1.0}}
    seam = Seam(record=path, redact=["name", "/Order-[0-9]+/"], faults=silent)
    passage = seam.before(ToolCall("get_it", {**SECRETS, "note": [*TEXTS, "Order-77"]}))
    seam.after(passage, ToolResult(answer))
    scratch = next(p for p in tmp_path.iterdir() if p.suffix == ".part").read_text()
    seam.close()
    for written in (scratch, path.read_text()):
        for secret in ("hunter22", "k-1", "k-2", "c-3", "dXNl", ":77", "Mei", "Order-77", "k-4"):
            assert secret not in written
    (record,) = read_episodes(path)
    assert record["seam"]["redacted"] > 10
    assert problem(record) == ""


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        Redaction(["/(/"])


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["paper", "realistic", "incidents"]))
def test_a_replay_repeats_every_fault(
    tmp_path_factory: pytest.TempPathFactory, seed: int, profile: str
) -> None:
    path = tmp_path_factory.mktemp("replay") / "record.jsonl"
    loud = load_profile({"base": profile, "clean": 0.3})
    options = {"faults": loud, "seed": seed, "blocked": {"cancel_order"}}
    first = recorded(path, **options)
    again = Seam(TOOLS, replay=path)
    for call in CALLS:
        carry(again, call)
    assert again.ledger == first.ledger


def test_a_replay_does_not_depend_on_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    first = recorded(path, faults={"base": "paper", "clean": 0.2}, seed=1)
    again = Seam(TOOLS, replay=path)
    for call in sorted(CALLS, key=lambda call: call.name):
        carry(again, call)
    met = {(e.tool, e.nth, e.delivered) for e in first.ledger}
    assert {(e.tool, e.nth, e.delivered) for e in again.ledger} == met


def test_a_replay_takes_its_plan_from_the_record_alone(tmp_path: Path) -> None:
    recorded(tmp_path / "r")
    with pytest.raises(UsageError, match="replay"):
        Seam(replay=tmp_path / "r", seed=4)
    (tmp_path / "no").write_text("{}\n")
    with pytest.raises(DataError, match="line 1 is no episode record"):
        Seam(replay=tmp_path / "no")
    with pytest.raises(DataError, match="cannot be read"):
        Seam(replay=tmp_path / "absent")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="holds no episode"):
        Seam(replay=tmp_path / "empty")


def test_a_record_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        Seam(record=tmp_path / "file" / "r")


def test_what_a_killed_program_noted_becomes_an_episode(tmp_path: Path) -> None:
    whole, record = tmp_path / "whole.jsonl", tmp_path / "record.jsonl"
    options: dict[str, Any] = {
        "faults": {"base": "paper", "clean": 0.3}, "seed": 3, "blocked": {"find_user"},
        "contract": "declared", "redact": ["items"], "substitutes": {"get_order": ("find_user",)},
    }  # fmt: skip
    recorded(whole, **options)
    killed = Seam(TOOLS, record=record, task="night", **options)
    for call in CALLS:
        carry(killed, call)
    (part,) = tmp_path.glob("*.part")
    with pytest.raises(DataError, match=r"record\.jsonl\..*\.part: give that file"):
        Seam(replay=record)
    left = part.read_bytes()
    killed.close()
    record.unlink()
    part.write_bytes(left + b'{"i":40,"call":"get_or')  # nobody holds it, and its end is torn
    assert Seam(replay=part).plan.profile.schedule, "the file itself can be repeated"
    (told,) = Seam(record=record).leftovers
    assert "40 calls" in told and not part.exists()
    (found,), (expected,) = read_episodes(record), read_episodes(whole)
    assert "was killed" in found["reason"] and problem(found) == ""
    assert found == {**expected, "reason": found["reason"]} and found["seam"]["redacted"] > 0


@pytest.mark.parametrize("torn", [0, 5])
def test_a_kill_between_the_record_and_the_scratch_file_doubles_nothing(
    torn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record.jsonl"
    carry(first := Seam(TOOLS, record=record), CALLS[0])
    first.close()
    carry(killed := Seam(TOOLS, record=record), CALLS[0])
    monkeypatch.setattr(Recorder, "discard", lambda self: self._file.close())
    killed.close()
    whole = record.read_bytes()
    record.write_bytes(whole[: len(whole) - torn])
    assert len(Seam(record=record).leftovers) == (1 if torn else 0)
    reasons = ["was killed" in episode["reason"] for episode in read_episodes(record)]
    assert reasons == [False, bool(torn)]


def test_an_episode_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    first = Seam(TOOLS, record=record)
    carry(first, CALLS[0])
    second = Seam(TOOLS, record=record)
    assert second.leftovers == [] and len([*tmp_path.glob("*.part")]) == 2
    first.close()
    second.close()
    assert len([*read_episodes(record)]) == 1 and not [*tmp_path.glob("*.part")]


@pytest.mark.parametrize(
    "text", ['{"i":0,"call":"x","args":{}}\n', '{"about":[]}\n{"i":0}\n', "7\n"]
)
def test_a_scratch_file_of_something_else_stays(tmp_path: Path, text: str) -> None:
    part = tmp_path / "record.jsonl.7-0.part"
    part.write_text(text)
    (told,) = Seam(record=tmp_path / "record.jsonl").leftovers
    assert "stays as it is" in told and part.read_text() == text
    with pytest.raises(DataError, match="no scratch file"):
        Seam(replay=part)
