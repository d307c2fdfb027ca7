"""Solvable queries and recorded responses, as StableToolBench publishes them.

``solvable_queries/test_instruction/*.json`` list queries with the APIs that they may use;
``tool_response_cache/CATEGORY/TOOL_for_CATEGORY/API.json`` map the text of an input, as Python
writes a dictionary, to ``{"error": …, "response": …}``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.canonical import MAX_TEXT, Json, canonical, is_deep
from bench2robust.core.errors import DataError
from bench2robust.domains.files import field, items, read_json
from bench2robust.domains.stabletoolbench.names import category_folder, function_name, plain

__all__ = ["Api", "Query", "Recorded", "read_queries", "read_recorded"]

_TYPES = {"NUMBER": "number", "BOOLEAN": "boolean"}
_LONGEST = 256


class Api(NamedTuple):
    """An API that queries may use.

    Attributes:
        function: the name that an agent calls.
        place: category folder, tool and API, as the cache's folders have them.
    """

    function: str
    place: tuple[str, str, str]
    description: str
    parameters: dict[str, Any]


class Query(NamedTuple):
    """One query: its text, the functions that it may use, and those that are relevant."""

    id: str
    group: str
    text: str
    functions: tuple[str, ...]
    relevant: tuple[str, ...]


class Recorded(NamedTuple):
    """One recorded answer to an API call."""

    arguments: dict[str, Json]
    content: str
    is_error: bool


def read_queries(folder: Path) -> tuple[list[Query], dict[str, Api]]:
    """Return the queries of every file in a folder, and their APIs by function name.

    Raises:
        DataError: there are none, or a file is damaged.
    """
    queries: list[Query] = []
    apis: dict[str, Api] = {}
    for file in sorted(folder.glob("*.json")):
        raw = read_json(file)
        if not isinstance(raw, list):
            raise DataError(f"{file} must be a list of queries, not {type(raw).__name__}")
        for index, entry in enumerate(raw):
            where = f"{file}[{index}]"
            listed = [_api(api, at) for api, at in items(entry, "api_list", where)]
            apis.update({api.function: api for api in listed})
            queries.append(_query(entry, file.stem, listed, where))
    if not queries:
        raise DataError(f"{folder} has no query files: copy solvable_queries there")
    return queries, apis


def _query(raw: Any, group: str, listed: list[Api], where: str) -> Query:
    by_name = {(api.place[1], api.place[2]): api.function for api in listed}
    relevant = []
    for pair, at in items(raw, "relevant APIs", where, optional=True):
        if not (
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair)
        ):
            raise DataError(f"{at} must be a tool's and an API's name, not {pair!r}")
        name = by_name.get((plain(pair[0]), plain(pair[1])))
        if name is None:
            raise DataError(f"{at} names {pair}, which is not in the query's api_list")
        relevant.append(name)
    number = raw.get("query_id")
    if isinstance(number, bool) or not isinstance(number, (int, str)):
        raise DataError(f"{where}.query_id must be a number, not {number!r}")
    functions = tuple(dict.fromkeys(api.function for api in listed))
    text = field(raw, "query", str, where)
    return Query(str(number), group, text, functions, tuple(dict.fromkeys(relevant)))


def _api(raw: Any, where: str) -> Api:
    category, tool, api = (field(raw, key, str, where)
                           for key in ("category_name", "tool_name", "api_name"))  # fmt: skip
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key in ("required_parameters", "optional_parameters"):
        for parameter, at in items(raw, key, where, optional=True):
            name = plain(field(parameter, "name", str, at))
            properties[name] = _parameter(parameter, at)
            if key == "required_parameters":
                required.append(name)
    told = field(raw, "api_description", str, where, optional=True).strip()
    schema = {"type": "object", "properties": properties, "required": required}
    place = (category_folder(category), plain(tool), plain(api))
    return Api(function_name(api, tool), place, told[:_LONGEST] or f"{api} of {tool}", schema)


def _parameter(raw: Any, where: str) -> dict[str, Any]:
    kind = _TYPES.get(field(raw, "type", str, where, optional=True).upper(), "string")
    told = field(raw, "description", str, where, optional=True)[:_LONGEST]
    example = raw.get("default")
    shown = {} if example in (None, "") else {"examples": [example]}
    return {"type": kind, "description": told, **shown}


def read_recorded(folder: Path, apis: Mapping[str, Api]) -> dict[str, list[Recorded]]:
    """Return the recorded answers of each function; APIs without a file have none.

    Raises:
        DataError: the folder is missing, or a file is damaged.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist: unpack StableToolBench's server_cache.zip there")
    recorded: dict[str, list[Recorded]] = {}
    for function, api in apis.items():
        category, tool, name = api.place
        file = folder / category / f"{tool}_for_{category}" / f"{name}.json"
        if file.exists():
            recorded[function] = _records(file)
    return recorded


def _records(file: Path) -> list[Recorded]:
    raw = read_json(file)
    if not isinstance(raw, dict):
        raise DataError(f"{file} must be an object by input, not {type(raw).__name__}")
    found = []
    for text, answer in raw.items():
        where = f"{file}[{text[:60]!r}]"
        arguments = _arguments(text, where)
        error = field(answer, "error", str, where, optional=True)
        if "response" not in answer:
            raise DataError(f"{where} has no field 'response'")
        response = answer["response"]
        content = response if isinstance(response, str) else canonical(response)
        found.append(Recorded(arguments, error or content, bool(error)))
    return found


def _arguments(text: str, where: str) -> dict[str, Json]:
    """Return an input that Python wrote as text: literals only, nothing is run."""
    try:
        value = ast.literal_eval(text) if len(text) <= MAX_TEXT else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, dict) or is_deep(value):
        raise DataError(f"{where}: the key must be the input as a Python dictionary")
    return {plain(str(name)): item for name, item in value.items()}
