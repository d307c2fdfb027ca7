from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation import store as store_module
from bench2robust.evaluation.store import EPISODES, TIMINGS, Store, read_records


def record(task: str, seed: int = 0, status: str = "ok", **more: Any) -> Any:
    key = {"agent": "a", "mode": "clean", "task": task, "seed": seed}
    return {**key, "status": status, "events": [{"user": "hi"}], **more}


def filled(folder: Path, *records: Any) -> Path:
    with Store(folder) as store:
        for item in records:
            store.append(item, 0.5)
    return folder / EPISODES


def test_records_come_back_in_order(tmp_path: Path) -> None:
    filled(tmp_path, record("b"), record("a"))
    assert [r["task"] for r in read_records(tmp_path)] == ["b", "a"]
    assert [r["events"] for r in read_records(tmp_path, dialogue=False)] == [[], []]


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
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        with Store(tmp_path):
            pass
        assert path.read_bytes() in (b"", whole[: len(whole) // 2], whole)
        assert len(path.read_bytes()) <= size


def test_damage_elsewhere_is_reported_not_mended(tmp_path: Path) -> None:
    path = filled(tmp_path, record("a"), record("b"))
    damaged = path.read_bytes().replace(b'{"agent', b"?", 1)
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


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(UsageError, match="Another process is writing"):
        Store(tmp_path)
    with Store(tmp_path):
        pass


def test_a_refused_store_gives_the_folder_back(tmp_path: Path) -> None:
    path = filled(tmp_path, record("a"), record("b"))
    path.write_bytes(b"?" + path.read_bytes())
    with pytest.raises(DataError):
        Store(tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


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


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        list(read_records(tmp_path))
