"""Spans as lines of OTLP JSON, as the Collector's file exporter and receiver have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode

__all__ = ["OtlpFile"]

_STATUS = {StatusCode.UNSET: 0, StatusCode.OK: 1, StatusCode.ERROR: 2}


class OtlpFile(SpanExporter):
    """Writes each span to an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write spans."""
        for span in spans:
            self._file.write(orjson.dumps({"resourceSpans": [_resource_spans(span)]}) + b"\n")
        return SpanExportResult.SUCCESS


def _resource_spans(span: ReadableSpan) -> dict[str, Any]:
    scope = span.instrumentation_scope
    named = {} if scope is None else {"name": scope.name, "version": scope.version}
    return {
        "resource": {"attributes": _pairs(span.resource.attributes)},
        "scopeSpans": [{"scope": named, "spans": [_span(span)]}],
    }


def _span(span: ReadableSpan) -> dict[str, Any]:
    context = span.get_span_context()
    ids = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    if span.parent is not None:
        ids["parentSpanId"] = f"{span.parent.span_id:016x}"
    return {
        **ids,
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": _pairs(span.attributes or {}),
        "events": [
            {
                "timeUnixNano": str(event.timestamp),
                "name": event.name,
                "attributes": _pairs(event.attributes or {}),
            }
            for event in span.events
        ],
        "status": {"code": _STATUS[span.status.status_code]},
    }


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [_value(item) for item in value]}}
