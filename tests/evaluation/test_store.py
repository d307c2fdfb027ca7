from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.errors import DataError
from bench2robust.core.types import Task, UserScript
from bench2robust.domains import get_domain
from bench2robust.evaluation import store as store_module
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.store import EPISODES, TIMINGS, Store, read_records

TASK = Task("t", "test", "plain", UserScript("hi"), ())
BLANK = RecordBuilder(get_domain("retail")).unplayed("a", "clean", TASK, 0, None)


def record(task: str, seed: int = 0, status: str = "ok", **more: Any) -> Any:
    key = {"task": task, "seed": seed, "status": status}
    return {**BLANK, **key, "events": [{"user": "hi"}], **more}


def filled(folder: Path, *records: Any) -> Path:
    folder.mkdir(exist_ok=True)
    with Store(folder) as store:
        for item in records:
            store.append(item, 0.5)
    return folder / EPISODES


def test_records_come_back_in_order(tmp_path: Path) -> None:
    filled(tmp_path, record("b"), record("a"))
    assert [r["task"] for r in read_records(tmp_path)] == ["b", "a"]
    assert [r["events"] for r in read_records(tmp_path, dialogue=False)] == [[], []]


def test_text_that_utf8_cannot_hold_is_kept(tmp_path: Path) -> None:
    said = [{"say": "half a smile: \ud83d \u00e9"}]
    with Store(tmp_path) as store:
        store.append(record("b", events=said), 0.0)
        store.append(record("a"), 0.0)
        store.finalise()
    assert [r["task"] for r in read_records(tmp_path)] == ["a", "b"]
    assert list(read_records(tmp_path))[1]["events"] == said
    with Store(tmp_path) as store:
        assert len(store.finished) == 2


def test_finalised_records_are_sorted_by_key(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for task, seed in (("b", 1), ("a", 10), ("b", 0), ("a", 2)):
            store.append(record(task, seed), 0.0)
        store.finalise()
    keys = [(r["task"], r["seed"]) for r in read_records(tmp_path)]
    assert keys == [("a", 2), ("a", 10), ("b", 0), ("b", 1)]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_broken_episode_is_open_again_and_replaced(tmp_path: Path) -> None:
    filled(tmp_path, record("a", status="infra_error"), record("b", status="uncertified"))
    with Store(tmp_path) as store:
        assert store.finished == {("a", "clean", "b", 0)}
        store.append(record("a", note="second"), 0.0)
        store.finalise()
    assert [(r["task"], r["status"]) for r in read_records(tmp_path)] == [
        ("a", "ok"),
        ("b", "uncertified"),
    ]


def test_the_newest_record_of_a_key_is_the_one_that_counts(tmp_path: Path) -> None:
    filled(tmp_path, record("a", status="infra_error"), record("b"), record("a"))
    found = [(r["task"], r["status"]) for r in read_records(tmp_path)]
    assert found == [("b", "ok"), ("a", "ok")]


@pytest.mark.parametrize("tail", [b'{"agent":"a"', b"\x00\x00", b"\n", b"not json\n", b"{}\n"])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = filled(tmp_path, record("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert [r["task"] for r in read_records(tmp_path)] == ["a"]
    with Store(tmp_path) as store:
        store.append(record("b"), 0.0)
    assert path.read_bytes() == whole + whole.replace(b'"task":"a"', b'"task":"b"')


def test_every_cut_leaves_whole_records_only(tmp_path: Path) -> None:
    path = filled(tmp_path, record("a"), record("b"))
    whole = path.read_bytes()
    for size in range(0, len(whole) + 1, 5):
        path.write_bytes(whole[:size])
        with Store(tmp_path):
            pass
        assert path.read_bytes() in (b"", whole[: len(whole) // 2], whole)
        assert len(path.read_bytes()) <= size


def test_damage_elsewhere_is_reported_not_mended(tmp_path: Path) -> None:
    path = filled(tmp_path, record("a"), record("b"))
    damaged = path.read_bytes().replace(b'{"schema', b"?", 1)
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="damaged at byte 0"):
        list(read_records(tmp_path))
    with pytest.raises(DataError, match="damaged at byte 0"):
        Store(tmp_path)
    assert path.read_bytes() == damaged


def test_an_endless_line_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_LINE", 1000)
    path = filled(tmp_path, record("a"))
    path.write_bytes(b"x" * 5000 + b"\n" + path.read_bytes())
    with pytest.raises(DataError, match="at most 1000 bytes"):
        list(read_records(tmp_path))


CALL = {"call": "f", "args": {}, "error": False, "result": "0"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("agent", ["a"]),
        ("mode", None),
        ("task", {}),
        ("seed", "0"),
        ("seed", True),
        ("seed", 10**30),
        ("status", "fine"),
        ("status", ["ok"]),
        ("flags", "needs_judge"),
        ("flags", [1]),
        ("success", 1),
        ("scenario", "S9"),
        ("scenario", []),
        ("reward", "high"),
        ("schema", 1),
        ("faults", {}),
        ("faults", [{"step": 0}]),
        ("events", None),
        ("events", ["hi"]),
        ("events", [{"say": 3}]),
        ("events", [{**CALL, "args": []}]),
        ("events", [{**CALL, "result": 0}]),
    ],
)
def test_a_field_of_the_wrong_type_is_named(tmp_path: Path, field: str, value: Any) -> None:
    lines = [orjson.dumps(record("a")), json.dumps({**record("b"), field: value}).encode()]
    (tmp_path / EPISODES).write_bytes(b"\n".join([*lines, b""]))
    with pytest.raises(DataError, match=f"{EPISODES}, line 2: {field} "):
        list(read_records(tmp_path))
    with pytest.raises(DataError, match=f"{EPISODES}, line 2: {field} "):
        Store(tmp_path)


USE = {"requests": 1, "prompt_tokens": 2, "completion_tokens": 3, "estimated": 0,
       "results_cut": 0, "context_full": False}  # fmt: skip
SIMULATOR = {"name": "chat:u", "requests": 1, "tokens": 2, "cost": None, "flags": ["early_stop"]}


def test_what_models_used_may_be_there_and_is_then_checked(tmp_path: Path) -> None:
    talk = [{"user": "hi"}, {"unread": "{"}, {"harness": "no JSON"}]
    filled(tmp_path / "good", record("a", model=USE, simulator=SIMULATOR, events=talk), record("b"))
    assert [len(r["events"]) for r in read_records(tmp_path / "good")] == [3, 1]
    for field, value in (("model", {**USE, "requests": "1"}), ("model", None), ("simulator", {})):
        folder = tmp_path / f"{field}-{len(value or ())}"
        filled(folder, record("a", **{field: value}))
        with pytest.raises(DataError, match=f"line 1: {field} cannot be"):
            list(read_records(folder))


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    partial = record("a")
    del partial["flags"]
    (tmp_path / EPISODES).write_bytes(orjson.dumps(partial) + b"\n")
    with pytest.raises(DataError, match="line 1: the field flags is missing"):
        list(read_records(tmp_path))


def test_every_row_of_the_sidecar_survives_a_kill(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for task in "abc":
            store.append(record(task), 0.5)
        assert (tmp_path / TIMINGS).read_bytes().count(b"\n") == 3


def test_what_a_kill_while_sorting_leaves_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{EPISODES}.x1y2.tmp").write_text("half")
    filled(tmp_path, record("a"))
    assert not list(tmp_path.glob("*.tmp"))


def test_wall_times_stay_out_of_the_records(tmp_path: Path) -> None:
    path = filled(tmp_path, record("a"))
    assert b"0.5" not in path.read_bytes()
    assert (tmp_path / TIMINGS).read_bytes() == b'["a","clean","a",0,0.5]\n'


def test_one_write_and_few_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"write": 0, "fsync": 0}
    real = {"write": os.write, "fsync": os.fsync}

    def counting(name: str) -> Any:
        def call(*args: Any) -> Any:
            calls[name] += 1
            return real[name](*args)

        return call

    monkeypatch.setattr(os, "write", counting("write"))
    monkeypatch.setattr(os, "fsync", counting("fsync"))
    filled(tmp_path, *(record(str(n)) for n in range(2500)))
    assert calls == {"write": 2500, "fsync": 3}


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path) as store:
        monkeypatch.setattr(os, "write", lambda file, line: len(line) - 1)
        with pytest.raises(OSError, match="could be written"):
            store.append(record("a"), 0.0)

        def full(file: int, line: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match=EPISODES):
            store.append(record("a"), 0.0)


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        list(read_records(tmp_path))
