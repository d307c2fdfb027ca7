"""What the tools of ours share: finding records, describing themselves, answering in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel

from bench2robust.core.types import ResultFields, ToolSpec

__all__ = ["answer", "chosen", "found", "read_spec"]


def read_spec(
    name: str, description: str, parameters: Mapping[str, str], fields: ResultFields
) -> ToolSpec:
    """Return the specification of a read tool.

    Args:
        parameters: each required text and what it means.
    """
    properties = {
        name: {"type": "string", "description": meaning} for name, meaning in parameters.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec(name, description, schema, "read", fields)


def found(what: str, table: Mapping[str, Any], key: str) -> Any:
    """Return a record. Raises ``ValueError``, as τ²-bench's tools do, if there is none."""
    if key not in table:
        raise ValueError(f"{what} {key} not found")
    return table[key]


def chosen(record: BaseModel, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record as plain data."""
    return record.model_dump(mode="json", include=set(names))


def answer(value: Any) -> str:
    """Return a result's text. τ²-bench would write the numbers of plain data as texts."""
    return orjson.dumps(value).decode()
