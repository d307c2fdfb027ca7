"""Whole files of JSON or YAML: exports of a database, and descriptions of tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.monitors.sources.parsing import parse
from bench2robust.monitors.sources.sample import USUAL, Fields, Sample, sample_of

__all__ = ["Kind", "check_kind", "export_samples", "is_document", "kind_of", "load_document"]

Kind = Literal["export", "mcp", "openapi", "schema"]
"""``export``: records of a database; ``mcp``: the answer to tools/list; ``openapi``: an OpenAPI
description; ``schema``: the JSON Schema of one tool's results."""
_DOCUMENTS = (".json", ".yaml", ".yml")
MAX_DOCUMENT = 256 * 1024 * 1024
"""Largest document, in bytes; what is longer belongs in JSON lines, which are read as a stream."""


def is_document(path: Path) -> bool:
    """Say whether a path is read whole, by its ending."""
    return path.suffix.lower() in _DOCUMENTS


def load_document(path: Path) -> Json:
    """Return the value of a JSON or YAML file.

    Raises:
        DataError: there is no such file, or it is too long or cannot be parsed.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file.")
    if (size := path.stat().st_size) > MAX_DOCUMENT:
        raise DataError(
            f"{path} has {size:,} bytes; a whole document may have {MAX_DOCUMENT:,}. Write one "
            'line {"tool": …, "args": …, "response": …} for each record to a .jsonl file.'
        )
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        if path.suffix.lower() == ".json":
            return parse(data.strip())
        return parse_yaml(data.decode(), str(path))
    except UsageError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: {error}.") from None


def check_kind(asked: str) -> Kind | None:
    """Return the kind that is asked for; None for ``auto``.

    Raises:
        UnknownNameError: there is no such kind.
    """
    kinds: tuple[Kind, ...] = get_args(Kind)
    for kind in kinds:
        if asked == kind:
            return kind
    if asked != "auto":
        raise UnknownNameError("kind of document", asked, (*kinds, "auto"))
    return None


def kind_of(document: Json, asked: str = "auto") -> Kind:
    """Return what a document is: what was asked for, or what it looks like.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if (kind := check_kind(asked)) is not None:
        return kind
    if isinstance(document, dict):
        if "openapi" in document or "swagger" in document:
            return "openapi"
        if _lists_tools(document.get("tools")) or _lists_tools(_inside(document, "result")):
            return "mcp"
        if "$schema" in document or isinstance(document.get("properties"), dict):
            return "schema"
    return "mcp" if _lists_tools(document) else "export"


def _inside(document: dict[str, Json], key: str) -> Json:
    inner = document.get(key)
    return inner.get("tools") if isinstance(inner, dict) else None


def _lists_tools(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(t, dict) and "name" in t and "inputSchema" in t for t in value)
    )


def export_samples(document: Json, tool: str, where: Fields = USUAL) -> Iterator[Sample]:
    """Yield the records of a database as results of one tool, each a group of its own.

    Args:
        document: a mapping from id to record, a list of records, or a list of whole samples.
        tool: the tool whose results they are.

    Raises:
        DataError: it is none of these.
    """
    if isinstance(document, dict):
        for key, record in document.items():
            yield Sample(tool, {}, record, str(key))
    elif isinstance(document, list):
        for position, row in enumerate(document):
            if isinstance(row, dict) and where.tool in row and where.response in row:
                try:
                    yield sample_of(row, where, str(position))
                except ValueError as problem:
                    raise DataError(f"entry {position}: {problem}.") from None
            else:
                yield Sample(tool, {}, row, str(position))
    else:
        raise DataError("a database export is an object from id to record, or a list of records.")
