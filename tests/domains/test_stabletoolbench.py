"""StableToolBench's format, in files of our own: its cache could not be had."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.backend import LogEntry
from bench2robust.core.errors import DataError
from bench2robust.core.solvability import analyse
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains.conformance import check_domain
from bench2robust.domains.stabletoolbench import StableToolBenchDomain, load_stabletoolbench
from bench2robust.domains.stabletoolbench.names import category_folder, function_name, plain

Files = dict[str, Any]


def api(name: str, *required: str, kind: str = "STRING", optional: tuple[str, ...] = ()) -> Files:
    def parameters(names: tuple[str, ...]) -> list[Files]:
        return [{"name": n, "type": kind, "description": n, "default": "x"} for n in names]

    return {
        "category_name": "Music, Sound/Art",
        "tool_name": "Band Finder",
        "api_name": name,
        "api_description": f"Gives {name}.",
        "required_parameters": parameters(required),
        "optional_parameters": parameters(optional),
        "method": "GET",
        "template_response": {"name": "str"},
    }


APIS = [api("Search Band", "name"), api("2 Concerts", "id", optional=("limit",)), api("Charts")]


def query(number: int, text: str, *relevant: str) -> Files:
    pairs = [["Band Finder", name] for name in relevant]
    return {"api_list": APIS, "query": text, "relevant APIs": pairs, "query_id": number}


def answer(value: Any, error: str = "") -> Files:
    return {"error": error, "response": value}


CACHE = "tool_response_cache/Music_Sound_Art/band_finder_for_Music_Sound_Art"
INSTRUCTIONS = "solvable_queries/test_instruction/G1_instruction.json"


def files() -> Files:
    """Solvable queries and a cache in small, as path to content."""
    return copy.deepcopy(
        {
            INSTRUCTIONS: [
                query(7, "Which concerts does the band Lumen give? Its id is b2.", "Search Band",
                      "2 Concerts"),
                query(8, "What do the charts say?", "Charts"),
                query(9, "Find the band Umbra.", "Search Band", "Search Band"),
            ],
            f"{CACHE}/search_band.json": {
                "{'name': 'Umbra'}": answer({"name": "Umbra", "id": "b1", "fans": 12}),
                "{'name': 'Lumen'}": answer({"name": "Lumen", "id": "b2", "fans": 40}),
            },
            f"{CACHE}/get_2_concerts.json": {
                "{'id': 'b1', 'limit': 2}": answer("", "Too many requests"),
                "{'id': 'b2'}": answer('[{"city": "Oslo"}]'),
            },
            f"{CACHE}/charts.json": {"{}": answer("", "API key expired")},
        }
    )  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Files], str]:
    """A function that writes a folder of files and returns it."""

    def run(content: Files) -> str:
        for name, value in content.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return str(tmp_path)

    return run


@pytest.fixture
def bench(write: Callable[[Files], str]) -> StableToolBenchDomain:
    """The small benchmark."""
    return load_stabletoolbench(write(files()))


def test_names_are_those_of_the_published_folders() -> None:
    assert plain("SongKick search Artist") == "songkick_search_artist"
    assert plain("2 Concerts!") == "get_2_concerts"
    assert plain("id") == "is_id"
    assert category_folder("Music, Sound/Art") == "Music_Sound_Art"
    assert len(function_name("Search", "T" * 80)) == 64


def test_the_reader_keeps_every_clause(bench: StableToolBenchDomain) -> None:
    verdicts = {v.clause: v.checks for v in check_domain(bench)}
    assert verdicts["hostile"] and verdicts["determinism"] and verdicts["probes"]


def test_what_is_read(bench: StableToolBenchDomain) -> None:
    assert [t.id for t in bench.tasks()] == ["G1_instruction-7", "G1_instruction-9"]
    assert "1 of 3 queries are left out" in bench.notes[1]
    task = bench.task("G1_instruction-7")
    assert task.actions == (
        ToolCall("search_band_for_band_finder", {"name": "Lumen"}),
        ToolCall("get_2_concerts_for_band_finder", {"is_id": "b2"}),
    )
    assert task.flags == ("needs_judge",)
    spec = {s.name: s for s in bench.tools()}["search_band_for_band_finder"]
    assert spec.parameters["required"] == ["name"] and spec.fields.amounts == (("fans",),)
    assert analyse(bench, task).reason("S2") == "no fallback class is on the critical path"


def test_a_query_passes_when_every_relevant_api_gave_a_good_answer(
    bench: StableToolBenchDomain,
) -> None:
    task = bench.task("G1_instruction-7")
    session = bench.session(task)
    made = [LogEntry(call, session.call(call)) for call in task.actions]
    assert bench.evaluate(task, session, made, ()).success
    assert not bench.evaluate(task, session, made[:1], ()).success
    lost = [made[0], LogEntry(task.actions[1], ToolResult("Error: timed out", True))]
    assert not bench.evaluate(task, session, made, (), lost).success


def test_what_was_not_recorded_is_told(bench: StableToolBenchDomain) -> None:
    session = bench.session(bench.task("G1_instruction-7"))
    missing = session.call(ToolCall("search_band_for_band_finder", {"name": "Nox"}))
    assert missing.is_error and "no recorded response" in missing.content
    failed = ToolCall("get_2_concerts_for_band_finder", {"is_id": "b1", "limit": 2})
    assert session.call(failed) == ToolResult("Too many requests", True)
    assert session.call(ToolCall("charts_for_band_finder", {})).is_error


def damage(change: Callable[[Files], Any]) -> Files:
    content = files()
    change(content)
    return content


SEARCH = f"{CACHE}/search_band.json"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (damage(lambda f: f.pop(INSTRUCTIONS)), "has no query files"),
        (damage(lambda f: f.update({INSTRUCTIONS: {}})), "must be a list of queries, not dict"),
        (damage(lambda f: f.update({INSTRUCTIONS: b"[{"})), "is not valid JSON"),
        (damage(lambda f: f[INSTRUCTIONS][0].pop("query")), "has no field 'query'"),
        (damage(lambda f: f[INSTRUCTIONS][0].pop("query_id")), "query_id must be a number"),
        (
            damage(lambda f: f[INSTRUCTIONS][0]["relevant APIs"].append(["Band Finder", "Ghost"])),
            "which is not in the query's api_list",
        ),
        (damage(lambda f: f[INSTRUCTIONS][0]["relevant APIs"].append("x")), "must be a tool's and"),
        (damage(lambda f: f.update({SEARCH: []})), "must be an object by input, not list"),
        (
            damage(lambda f: f[SEARCH].update({"__import__('os').getpid()": answer("x")})),
            "the key must be the input as a Python dictionary",
        ),
        (damage(lambda f: f[SEARCH].update({"{}": {"error": ""}})), "has no field 'response'"),
        (damage(lambda f: f.pop(SEARCH)), "no query has recorded responses"),
        (
            damage(lambda f: [f.pop(key) for key in list(f) if key.startswith("tool_response")]),
            "does not exist: unpack StableToolBench's server_cache.zip there",
        ),
    ],
)
def test_damaged_files_are_named(write: Callable[[Files], str], content: Files, told: str) -> None:
    with pytest.raises(DataError, match=told):
        load_stabletoolbench(write(content))


def test_absent_data_are_told() -> None:
    with pytest.raises(DataError, match="stabletoolbench ships no data"):
        load_stabletoolbench()
    with pytest.raises(DataError, match="'/no/such' does not exist"):
        load_stabletoolbench("/no/such")
