from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.core.types import ToolCall
from bench2robust.evaluation.record import record_key
from bench2robust.evaluation.store import EPISODES
from bench2robust.seams.export import FORMATS, export
from bench2robust.seams.export.source import RunSource
from bench2robust.seams.export.timeline import moments
from bench2robust.seams.seam import Seam
from tests.seams.shop import NAMES, TOOLS, carry

Evaluation: TypeAlias = Callable[..., Path]


@pytest.mark.parametrize("to", FORMATS)
def test_a_run_without_texts_is_refused_with_the_way_out(
    to: str, evaluation: Evaluation, tmp_path: Path
) -> None:
    pytest.importorskip({"inspect": "inspect_ai", "otel": "opentelemetry.sdk"}.get(to, "datasets"))
    run = evaluation(tmp_path / "run", transcripts=False, tasks="train:2", seeds=1)
    with pytest.raises(DataError, match="evaluate again with --transcripts"):
        export(run, to, tmp_path / "out")


def test_what_models_learn_from_is_not_held_out(evaluation: Evaluation, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed")
    run = evaluation(tmp_path / "run", tasks="test:2", seeds=1, modes=["clean", "inject"])
    for to in ("sft", "preferences"):
        with pytest.raises(UsageError, match=r"--tasks train\. Or .* --held-out"):
            export(run, to, tmp_path / to)
    assert export(run, "markdown", tmp_path / "markdown")[0] == 8
    assert export(run, "sft", tmp_path / "sft", held_out=True)[0] > 0


def test_bad_names_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'markdown'"):
        export(folder, "markdwn", tmp_path / "out")
    with pytest.raises(UnknownNameError, match="episode 'scripted:nave"):
        export(folder, "markdown", tmp_path / "out", ["scripted:nave/clean/x/0"])
    (tmp_path / "note").write_text("mine")
    for out in (tmp_path, tmp_path / "note"):
        with pytest.raises(UsageError, match="is in use"):
            export(folder, "markdown", out)
    assert (tmp_path / "note").read_text() == "mine"


def test_a_missing_package_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "inspect_ai.log", absent)
    monkeypatch.delitem(sys.modules, "bench2robust.seams.export.inspect_log", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'bench2robust\[inspect\]'"):
        export(folder, "inspect", tmp_path / "out")


def test_our_own_broken_module_is_no_missing_package(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "bench2robust.seams.export.timeline", absent)
    monkeypatch.delitem(sys.modules, "bench2robust.seams.export.markdown", raising=False)
    with pytest.raises(ModuleNotFoundError, match="timeline"):
        export(folder, "markdown", tmp_path / "out")


def test_changed_data_are_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    (copy / EPISODES).write_bytes((folder / EPISODES).read_bytes())
    manifest = (folder / "manifest.json").read_text()
    suite = RunSource(folder).suite
    (copy / "manifest.json").write_text(manifest.replace(suite, "0" * len(suite)))
    with pytest.raises(DataError, match="was run on the suite 000"):
        export(copy, "markdown", tmp_path / "out")


def test_episodes_can_be_named(folder: Path, source: RunSource, tmp_path: Path) -> None:
    record = next(iter(source.records()))
    name = "/".join(map(str, record_key(record)))
    count, out = export(folder, "markdown", tmp_path / "out", [name, "3"])
    assert count == 2
    assert len(list(out.glob("*.md"))) == 3


def test_simulated_time_ends_where_the_record_says(source: RunSource) -> None:
    seen = 0
    for record in source.records():
        walked = list(moments(record))
        assert round(walked[-1].end, 3) == record["sim_seconds"]
        assert [m.number for m in walked if m.number is not None] == list(range(record["calls"]))
        assert [m.fault for m in walked if m.fault] == record["faults"]
        assert [m.receipt for m in walked if m.receipt] == record["monitor"]["receipts"]
        seen += len(record["monitor"]["receipts"])
    assert seen


def test_each_agent_has_its_own_prompt(source: RunSource) -> None:
    for record in source.records():
        system = source.messages(record)[0]["content"]
        assert ("<tool_reliability>" in system) == ("+full" in record["agent"])
        assert len(source.tools(record)) == (21 if record["mode"] in ("inject_alt", "s3") else 16)


def test_transcripts_are_whole(source: RunSource, tmp_path: Path) -> None:
    from bench2robust.seams.export.markdown import write

    assert write(source, tmp_path) == len(list(source.records()))
    faulted = next(r for r in source.records() if any(f["changes"] for f in r["faults"]))
    link = next(
        line for line in (tmp_path / "index.md").read_text().splitlines()
        if f"[{'/'.join(map(str, record_key(faulted)))}]" in line
    )  # fmt: skip
    text = (tmp_path / link.partition("](")[2].partition(")")[0]).read_text()
    for event in faulted["events"]:
        for value in (event.get("user"), event.get("say"), event.get("content")):
            assert value is None or f"```text\n{value}\n```" in text
    silent = next(f for f in faulted["faults"] if f["changes"])
    assert f"Fault: {silent['delivered']}" in text and f"`{silent['changes'][0][0]}`" in text


def test_nothing_in_a_text_ends_its_block() -> None:
    from bench2robust.seams.export.markdown import _fenced

    assert _fenced("a ``` b ```` c").startswith("`````text\n")


def test_a_record_of_a_seam_is_exported_too(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    for _ in range(2):  # of one key
        seam = Seam(
            TOOLS, record=record, seed=3, task="night", faults={"probabilities": {"timeout": 1.0}}
        )
        with seam:
            carry(seam, ToolCall(NAMES[0], {"order_id": "#W1"}))
    count, out = export(record, "markdown", tmp_path / "out")
    names = sorted(path.name for path in out.glob("*night*"))
    assert count == 2 and len(names) == 2
    text = (out / names[0]).read_text()
    assert "> Fault: " in text and "nobody says whether the task succeeded" in text
    pytest.importorskip("datasets")
    with pytest.raises(UsageError, match="is no run folder: rows need"):
        export(record, "sft", tmp_path / "rows")
    with pytest.raises(UsageError, match="--episode needs a run folder"):
        export(record, "markdown", tmp_path / "more", ["1"])
