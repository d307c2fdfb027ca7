from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.canonical import same_json
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.monitors import sources
from bench2robust.monitors.sources import BadLines, Fields, Part, lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def rows(path: Path, skip: bool = True) -> tuple[list[Any], BadLines]:
    bad = BadLines(skip)
    part = Part(path, 0, path.stat().st_size)
    return [row for _, row in sources.read_rows(part, bad)], bad


@given(JSON)
def test_what_python_writes_is_read_back(value: Any) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(value, separators=separators)
        assert same_json(sources.parse(text.encode()), value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a": 1', "cut off"),
        (b'{"a": "b', "cut off"),
        (b"{'a': 1}", "no JSON value"),
        (b"__import__('os').system('x')", "no JSON value"),
        (b'{"a": "\xff"}', "byte 0xff at position 7 is not UTF-8"),
        (b'{"a": 1, "a": 2}', "has the key 'a' twice"),
        (b'{"x": [{"a" : "p:q", "a":2}]}', "has the key 'a' twice"),
        (b'{"\\u0061": 1, "a": 2}', "has the key 'a' twice"),
        (b"[" * 101 + b"]" * 101, "nested more than 100 deep"),
        (b"[" * 100_000 + b"]" * 100_000, "no JSON value"),
        (b'{"a":' * 100_000, "no JSON value"),
        (b"NaNa", "no JSON value"),
    ],
)
def test_each_kind_of_damage_is_named(line: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        sources.parse(line)
    assert len(str(caught.value)) < 300


def test_non_finite_numbers_are_numbers_and_a_hundred_levels_are_read() -> None:
    value = sources.parse(b'{"a": NaN, "b": [Infinity, -Infinity]}')
    assert value["a"] != value["a"] and value["b"] == [float("inf"), float("-inf")]
    sources.parse(b"[" * 100 + b"]" * 100)
    assert sources.parse(b'{"a": "\\ud800"}') == {"a": "\ud800"}


def test_one_key_in_two_objects_and_colons_in_texts_are_no_repetition() -> None:
    for line in (b'[{"a": 1}, {"a": 2}]', b'{"a": "x:y", "b": "\\u003a"}', b'{"a:b": 1, "a": 2}'):
        assert sources.parse(line) == json.loads(line)


def test_bad_lines_are_counted_and_named_and_skipped_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":1}\nnonsense\n\n{"a":2}\n\xff\n{"a":3')
    found, bad = rows(path)
    assert found == [{"a": 1}, {"a": 2}] and bad.count == 3
    assert [number for _, number, _ in bad.named] == [2, 5, 6]
    bad.settle()
    found, bad = rows(path, skip=False)
    with pytest.raises(DataError, match=r"3 of 6 lines .*t.jsonl, line 2: .*--skip-bad"):
        bad.settle()


def test_reading_ends_early_where_nothing_is_json(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"nonsense\n" * 100_000)
    with pytest.raises(DataError, match="100 of 100 lines"):
        rows(path, skip=False)
    assert rows(path)[1].count == 100_000


def test_a_line_beyond_the_limit_is_passed_over_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 50)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":"' + b"x" * 500 + b'"}\n{"a":2}\n')
    found, bad = rows(path)
    assert found == [{"a": 1}, {"a": 2}]
    assert bad.named[0][1:] == (2, "longer than 50 bytes")


def test_a_line_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"a": "x" * 10_000_000}) + "\n")
    found, bad = rows(path)
    assert len(found[0]["a"]) == 10_000_000 and not bad.count


def test_marks_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n{"a":2}\r\n')
    assert rows(path)[0] == [{"a": 1}, {"a": 2}]
    path.write_bytes('{"a":1}\n'.encode("utf-16"))
    assert "UTF-16" in rows(path)[1].summary()


@given(st.lists(st.binary(max_size=12), max_size=30), st.integers(1, 9))
def test_parts_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], workers: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "parts.jsonl"
    path.write_bytes(b"\n".join(texts))
    whole, bad = rows(path)
    together: list[Any] = []
    merged = BadLines(True)
    for part in sources.parts_of([path], workers):
        own = BadLines(True)
        together += [row for _, row in sources.read_rows(part, own)]
        merged.merge(own)
    assert together == whole
    assert (merged.count, merged.named, merged.lines) == (bad.count, bad.named, bad.lines)


def test_progress_adds_up_to_the_size(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":1}\nbad\n{"a":2}')
    done: list[int] = []
    size = path.stat().st_size
    list(sources.read_rows(Part(path, 0, size), BadLines(True), done.append))
    assert sum(done) == size


def test_a_folder_means_its_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", "notes.txt"):
        (tmp_path / name).write_text("{}\n")
    found = [p.relative_to(tmp_path).as_posix() for p in sources.line_files(tmp_path)]
    assert found == ["a.jsonl", "b.jsonl", "deep/c.jsonl"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no \.jsonl"):
        sources.line_files(tmp_path / "empty")
    with pytest.raises(DataError, match="no such"):
        sources.line_files(tmp_path / "none")


def test_samples_are_read_by_the_usual_and_by_other_names() -> None:
    usual = {"tool": "t", "args": {"x": 1}, "response": {"y": 2}, "group": 7}
    assert sources.sample_of(usual, Fields(), "f") == ("t", {"x": 1}, {"y": 2}, "7")
    where = Fields.read(["tool=function.name", "args=function.arguments", "response=a.b"])
    row = {"function": {"name": "t", "arguments": '{"x":1}'}, "a": {"b": '[{"y":2}]'}}
    assert sources.sample_of(row, where, "f") == ("t", {"x": 1}, [{"y": 2}], "f")
    assert sources.sample_of({"a.b": 1, "tool": "t"}, Fields(response="a.b"), "f").response == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([1], "not an object"),
        ({"response": 1}, "there is no 'tool' (give --field tool=KEY"),
        ({"tool": 3, "response": 1}, "'tool' is 3"),
        ({"tool": "t"}, "there is no 'response'"),
        ({"tool": "t", "args": [1], "response": 1}, "'args' is [1], not an object"),
    ],
)
def test_what_is_no_sample_says_why(row: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        sources.sample_of(row, Fields(), "f")


def test_wrong_fields_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="write it as"):
        Fields.read(["response"])
    with pytest.raises(UnknownNameError, match="'response'"):
        Fields.read(["respons=x"])


def test_a_database_export_is_records_of_one_tool(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps({"#1": {"total": 3}, "#2": {"total": 4}}))
    document = sources.load_document(path)
    assert sources.kind_of(document) == "export"
    found = list(sources.export_samples(document, "orders"))
    assert found[1] == ("orders", {}, {"total": 4}, "#2")
    rows_ = [{"tool": "a", "response": 1}, {"total": 2}]
    assert [s.tool for s in sources.export_samples(rows_, "b")] == ["a", "b"]
    with pytest.raises(DataError, match="from id to record"):
        list(sources.export_samples(3, "b"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", b'{"a": 1', "a.json: the JSON value is cut off"),
        ("a.json", b"\xff", "not UTF-8"),
        ("a.yaml", b"\xff", "a.yaml"),
        ("a.yaml", b"a: [", "line"),
        ("a.yaml", b"a: &x [1]\nb: *x", "aliases"),
    ],
)
def test_damaged_documents_are_data_errors(
    tmp_path: Path, name: str, text: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(UsageError, match=re.escape(says)):
        sources.load_document(tmp_path / name)


def test_a_document_too_long_for_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources.documents, "MAX_DOCUMENT", 10)
    (tmp_path / "a.json").write_text('{"a": 1234567}')
    with pytest.raises(DataError, match="may have 10"):
        sources.load_document(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("response", "carried"),
    [
        ({"content": [], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False}, {"a": 1}),
        ({"content": [{"type": "text", "text": "plain"}]}, "plain"),
        ({"content": [{"type": "text"}]}, {"content": [{"type": "text"}]}),
        ({"content": [{"type": "text", "text": "x"}], "page": 1},
         {"content": [{"type": "text", "text": "x"}], "page": 1}),
        ({"content": [{"type": "text", "text": "x"}], "isError": True},
         {"content": [{"type": "text", "text": "x"}], "isError": True}),
    ],
)  # fmt: skip
def test_what_an_mcp_result_carries_is_the_response(response: Any, carried: Any) -> None:
    assert sources.sample_of({"tool": "t", "response": response}, Fields(), "f")[2] == carried
