"""What contracts are mined from and checked against: recorded results, and declared schemas."""

from __future__ import annotations

from bench2robust.monitors.sources.documents import (
    Kind,
    check_kind,
    export_samples,
    is_document,
    kind_of,
    load_document,
)
from bench2robust.monitors.sources.lines import BadLines, Part, line_files, parts_of, read_rows
from bench2robust.monitors.sources.parsing import MAX_LINE, parse
from bench2robust.monitors.sources.sample import USUAL, Fields, Sample, sample_of
from bench2robust.monitors.sources.schemas import DeclaredTool, declared_tools, resolved

__all__ = [
    "MAX_LINE",
    "USUAL",
    "BadLines",
    "DeclaredTool",
    "Fields",
    "Kind",
    "Part",
    "Sample",
    "check_kind",
    "declared_tools",
    "export_samples",
    "is_document",
    "kind_of",
    "line_files",
    "load_document",
    "parse",
    "parts_of",
    "read_rows",
    "resolved",
    "sample_of",
]
