from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.record import record_key
from bench2robust.seams.export import export
from bench2robust.seams.export.source import RunSource

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")


@pytest.fixture(scope="module")
def spans(folder: Path) -> list[Any]:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from bench2robust.seams.export.otel import export_spans

    exporter = InMemorySpanExporter()
    source = RunSource(folder)
    assert export_spans(source, exporter) == len(list(source.records()))
    return list(exporter.get_finished_spans())


def test_the_copied_names_are_those_of_the_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
    from opentelemetry.semconv.attributes import error_attributes

    from bench2robust.seams.export import otel

    known = {
        value
        for module in (gen_ai_attributes, error_attributes)
        for name, value in vars(module).items()
        if name.isupper()
    }
    copied = {
        v for k, v in vars(otel).items() if k.isupper() and str(v).startswith(("gen_", "err"))
    }
    assert len(copied) == 18
    assert copied - known == {"gen_ai.evaluation.result"}  # the name of an event


def test_a_trace_is_an_episode(spans: list[Any], source: RunSource) -> None:
    roots = {s.attributes["gen_ai.conversation.id"]: s for s in spans if s.parent is None}
    calls: dict[int, list[Any]] = {}
    for span in spans:
        if span.parent is not None:
            calls.setdefault(span.parent.span_id, []).append(span)
    for record in source.records():
        root = roots.pop("/".join(map(str, record_key(record))))
        assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
        assert root.attributes["gen_ai.agent.name"] == record["agent"]
        assert (root.end_time - root.start_time) / 1e9 == pytest.approx(record["sim_seconds"])
        score = next(e for e in root.events if e.name == "gen_ai.evaluation.result")
        assert score.attributes["gen_ai.evaluation.score.value"] == record["success"]
        made = [e for e in record["events"] if "call" in e]
        inside = calls.get(root.context.span_id, [])
        assert {s.context.trace_id for s in inside} <= {root.context.trace_id}
        assert [s.name for s in inside] == [f"execute_tool {e['call']}" for e in made]
        for span, event in zip(inside, made, strict=True):
            about = span.attributes
            assert about["gen_ai.operation.name"] == "execute_tool"
            assert about["gen_ai.tool.name"] == event["call"]
            assert json.loads(about["gen_ai.tool.call.arguments"]) == event["args"]
            assert about["gen_ai.tool.call.result"] == event["content"]
            assert (span.status.status_code.name == "ERROR") == event["error"]
            assert ("error.type" in about) == event["error"]
    assert not roots


def test_every_fault_that_landed_is_an_event(spans: list[Any], source: RunSource) -> None:
    found = Counter(
        event.attributes["bench2robust.fault.type"]
        for span in spans
        for event in span.events
        if event.name == "fault.injected"
    )
    wanted = Counter(f["delivered"] for r in source.records() for f in r["faults"])
    wanted.pop(None, None)
    assert found == wanted and len(found) > 5


def test_the_same_run_gives_the_same_lines(folder: Path, tmp_path: Path) -> None:
    one, two = (export(folder, "otel", tmp_path / n)[1] / "spans.jsonl" for n in ("a", "b"))
    assert one.read_bytes() == two.read_bytes()
    lines = [json.loads(line) for line in one.read_text().splitlines()]
    spans = [s for line in lines for s in line["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert len({span["spanId"] for span in spans}) == len(spans) == len(lines)
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in spans)
    assert {span["kind"] for span in spans} == {1}
