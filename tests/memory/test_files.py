from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.memory import Counts, Memory, dump, load, memory_digest
from bench2robust.memory.files import _parse

NAMES = st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable())
COUNTS = st.integers(0, 9).flatmap(lambda n: st.builds(Counts, st.integers(0, n), st.just(n)))
CELLS = st.dictionaries(st.tuples(NAMES, NAMES), COUNTS, max_size=4)


@given(st.builds(Memory, NAMES, NAMES, st.integers(0, 99), CELLS, CELLS))
def test_a_file_gives_back_the_memory(memory: Memory) -> None:
    assert _parse(dump(memory), "it") == memory


def test_equal_memories_have_equal_bytes_and_others_another_digest() -> None:
    cells = {("a", "timeout"): Counts(1, 2), ("b", "timeout"): Counts(0, 2)}
    one = Memory("d", "s", 2, cells)
    same = Memory("d", "s", 2, dict(reversed(cells.items())))
    other = Memory("d", "s", 2, {**cells, ("b", "timeout"): Counts(1, 2)})
    assert dump(one) == dump(same) and memory_digest(one) == memory_digest(same)
    assert memory_digest(one) != memory_digest(other)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "memory build"),
        ({"domain": 3}, "'domain': 3"),
        ({"episodes": -1}, "'episodes': -1"),
        ({"episodes": True}, "'episodes': True"),
        ({"recovery": []}, r"'recovery': \[\]"),
        ({"recovery": {"tool": 5}}, "'tool': 5"),
        ({"recovery": {"tool": {"timeout": [3, 2]}}}, r"'timeout': \[3, 2\]"),
        ({"switch": {"tool": {"other": [1]}}}, r"'other': \[1\]"),
        ({"switch": {"tool": {"other": [0.5, 1]}}}, "'other'"),
    ],
)
def test_a_damaged_file_is_refused_and_the_place_named(
    change: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**json.loads(dump(Memory("d", "s"))), **change}))
    with pytest.raises(DataError, match=says):
        load(path)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="'retail'"):
        load("retial")
    with pytest.raises(DataError, match=r"none\.json"):
        load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        load(tmp_path / "bad.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DataError, match="memory build"):
        load(tmp_path / "list.json")
