"""Episodes as OpenTelemetry spans, by the semantic conventions for generative AI.

A trace is an episode: ``invoke_agent`` with a child ``execute_tool`` for each call. The names of
the conventions are copied here: the package that has them keeps them in a private place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from bench2robust.core.canonical import canonical
from bench2robust.core.keyed import digest
from bench2robust.evaluation.arms import agent_of
from bench2robust.evaluation.manifest import package_version
from bench2robust.evaluation.record import EpisodeRecord, FaultRow, ReceiptRow
from bench2robust.seams.export.otlp_json import OtlpFile
from bench2robust.seams.export.source import Source, episode_name
from bench2robust.seams.export.timeline import Moment, moments, summary

__all__ = ["export_spans", "write"]

SPANS = "spans.jsonl"
AGENT_NAME = "gen_ai.agent.name"
ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_ID = "gen_ai.tool.call.id"
CONVERSATION = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
EVALUATION = "gen_ai.evaluation.result"
EXPLANATION = "gen_ai.evaluation.explanation"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
LABEL = "gen_ai.evaluation.score.label"
MEASURE = "gen_ai.evaluation.name"
MODEL = "gen_ai.request.model"
OPERATION = "gen_ai.operation.name"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
PROVIDER = "gen_ai.provider.name"
RESULT = "gen_ai.tool.call.result"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
VALUE = "gen_ai.evaluation.score.value"


def write(source: Source, out: Path) -> int:
    """Write ``spans.jsonl``, which the OpenTelemetry Collector reads; return how many episodes."""
    out.mkdir(parents=True, exist_ok=True)
    with open(out / SPANS, "wb") as file:
        return export_spans(source, OtlpFile(file))


def export_spans(source: Source, exporter: SpanExporter) -> int:
    """Hand the spans of a run to any exporter, such as that to your collector; return how many.

    The same run gives the same ids and times, so that what is sent twice is seen once. Times are
    simulated; every episode begins when the run ended.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    ids, count = _KeyedIds(), 0
    resource = Resource(
        {
            "service.name": "bench2robust",
            "service.version": package_version(),
            "bench2robust.suite": source.suite,
            "bench2robust.run": source.identity,
        }
    )
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("bench2robust", package_version())
    for record in source.records():
        count += 1
        ids.begin(source.identity, episode_name(record))
        _Trace(tracer, source, record).emit()
    provider.shutdown()
    return count


class _KeyedIds(IdGenerator):
    """Ids that are functions of the episode."""

    def begin(self, *key: str) -> None:
        self._key, self._count = key, 0

    def generate_trace_id(self) -> int:
        return int(digest("trace", *self._key, size=16), 16)

    def generate_span_id(self) -> int:
        self._count += 1
        return int(digest("span", *self._key, self._count, size=8), 16)


class _Trace:
    def __init__(self, tracer: Tracer, source: Source, record: EpisodeRecord) -> None:
        self._tracer = tracer
        self._record = record
        self._origin = int(source.finished.timestamp()) * 1_000_000_000
        # Checks, too, that the record holds the texts.
        self._results = [m["content"] for m in source.messages(record) if m["role"] == "tool"]

    def emit(self) -> None:
        """Emit the spans of the episode."""
        record = self._record
        root = self._tracer.start_span(
            f"invoke_agent {record['agent']}",
            context=Context(),
            attributes=_about(record),
            start_time=self._at(0.0),
        )
        inside = set_span_in_context(root, Context())
        for moment in moments(record):
            if moment.number is None:
                self._message(root, moment)
            else:
                self._call(inside, moment, moment.number)
        end = self._at(record["sim_seconds"])
        if record["status"] == "ok":  # somebody says whether it succeeded
            root.add_event(EVALUATION, _score(record), end)
        root.end(end)

    def _message(self, root: Span, moment: Moment) -> None:
        ((speaker, text),) = moment.event.items()
        said = {"bench2robust.speaker": speaker, "bench2robust.text": text}
        root.add_event("bench2robust.message", said, self._at(moment.end))

    def _call(self, inside: Context, moment: Moment, number: int) -> None:
        event, end = moment.event, self._at(moment.end)
        span = self._tracer.start_span(
            f"execute_tool {event['call']}",
            context=inside,
            attributes={
                OPERATION: "execute_tool",
                TOOL: event["call"],
                TOOL_TYPE: "function",
                CALL_ID: f"call_{number}",
                ARGUMENTS: canonical(event["args"]),
                RESULT: self._results[number],
            },
            start_time=self._at(moment.start),
        )
        if event["error"]:
            kind = moment.fault["delivered"] if moment.fault else None
            span.set_attribute(ERROR_TYPE, kind or "tool_error")
            span.set_status(Status(StatusCode.ERROR))
        if moment.fault and moment.fault["delivered"]:
            span.add_event("fault.injected", _fault(moment.fault), end)
        if moment.receipt:
            span.add_event("bench2robust.receipt", _receipt(moment.receipt), end)
        span.end(end)

    def _at(self, seconds: float) -> int:
        return self._origin + round(seconds * 1_000_000_000)


def _about(record: EpisodeRecord) -> Mapping[str, Any]:
    about: dict[str, Any] = {
        OPERATION: "invoke_agent",
        PROVIDER: "bench2robust",
        AGENT_NAME: record["agent"],
        CONVERSATION: episode_name(record),
        "bench2robust.mode": record["mode"],
        "bench2robust.task": record["task"],
        "bench2robust.seed": record["seed"],
        "bench2robust.scenario": record["scenario"] or "none",
        "bench2robust.blocked": record["blocked"],
        "bench2robust.ended": record["ended"],
    }
    if "model" in record:
        about[MODEL] = agent_of(record["agent"]).partition(":")[2]
        about[INPUT_TOKENS] = record["model"]["prompt_tokens"]
        about[OUTPUT_TOKENS] = record["model"]["completion_tokens"]
    return about


def _score(record: EpisodeRecord) -> Mapping[str, Any]:
    return {
        MEASURE: "success",
        VALUE: float(record["success"]),
        LABEL: "pass" if record["success"] else "fail",
        EXPLANATION: summary(record),
    }


def _fault(row: FaultRow) -> Mapping[str, Any]:
    return {
        "bench2robust.fault.type": row["delivered"] or "",
        "bench2robust.fault.planned": row["planned"],
        "bench2robust.fault.executed": row["executed"],
        "bench2robust.fault.committed": row["committed"],
        "bench2robust.fault.changes": orjson.dumps(row["changes"]).decode(),
        "bench2robust.fault.reaction": row["reaction"],
    }


def _receipt(row: ReceiptRow) -> Mapping[str, Any]:
    return {
        "bench2robust.receipt.codes": row["codes"],
        "bench2robust.receipt.paths": row["paths"],
        "bench2robust.receipt.warned": row["warned"],
    }
