"""One tool call and what came back: all that a contract is mined from and checked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from bench2robust.core.canonical import MAX_TEXT, Json, parse_json
from bench2robust.core.errors import UnknownNameError, UsageError, shown

__all__ = ["USUAL", "Fields", "Sample", "sample_of"]


class Sample(NamedTuple):
    """One recorded result.

    Attributes:
        tool: the tool's name.
        arguments: what it was called with.
        response: the parsed result.
        group: what results belong together (a task, a session, a recording): they are never split
            between training and test.
    """

    tool: str
    arguments: dict[str, Json]
    response: Json
    group: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Where in a line's object the parts of a sample are: keys, outer first, joined by dots."""

    tool: str = "tool"
    args: str = "args"
    response: str = "response"
    group: str = "group"

    @classmethod
    def read(cls, settings: Sequence[str]) -> Fields:
        """Return the fields that settings such as ``response=result.content`` name.

        Raises:
            UsageError: a setting has no ``=``, or no such part.
        """
        found = cls()
        for setting in settings:
            part, separator, path = setting.partition("=")
            if not separator or not path:
                raise UsageError(f"--field {shown(setting)}: write it as response=result.content.")
            names = [field.name for field in fields(cls)]
            if part not in names:
                raise UnknownNameError("part of a sample", part, names)
            found = replace(found, **{part: path})
        return found


USUAL = Fields()
_ABSENT = object()
_ENVELOPE = {"content", "isError", "_meta", "structuredContent"}


def sample_of(row: Json, where: Fields, fallback: str) -> Sample:
    """Return the sample that a line's object holds.

    Arguments and response may be JSON texts, as chat interfaces write them; they are parsed once.
    Of an MCP ``CallToolResult``, what it carries is the response.

    Args:
        fallback: the group of a row that names none.

    Raises:
        ValueError: a part is missing or of the wrong type; the text names it.
    """
    if not isinstance(row, dict):
        raise ValueError(f"not an object but {shown(row)}")
    tool = _at(row, where.tool)
    if not isinstance(tool, str) or not tool:
        raise ValueError(_wrong("tool", where.tool, tool, "the name of a tool"))
    arguments = _unfolded(_at(row, where.args))
    if arguments is _ABSENT or arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        raise ValueError(_wrong("args", where.args, arguments, "an object"))
    response = _unfolded(_at(row, where.response))
    if response is _ABSENT:
        raise ValueError(_wrong("response", where.response, response, "what the tool returned"))
    group = _at(row, where.group)
    group = fallback if group in (_ABSENT, None) else str(group)
    return Sample(tool, arguments, _unwrapped(response), group)


def _wrong(part: str, path: str, value: object, wanted: str) -> str:
    if value is _ABSENT:
        return f"there is no {path!r} (give --field {part}=KEY if it is called otherwise)"
    return f"{path!r} is {shown(value)}, not {wanted}"


def _at(row: Mapping[str, Json], path: str) -> Json:
    value: Json = row
    for key in (path,) if path in row else path.split("."):
        if not isinstance(value, dict) or key not in value:
            return _ABSENT
        value = value[key]
    return value


def _unwrapped(response: Json) -> Json:
    """Return what an MCP CallToolResult carries; one that says ``isError`` stays as it is."""
    if not isinstance(response, dict) or response.get("isError") is True:
        return response
    if "structuredContent" in response and response["structuredContent"] is not None:
        return response["structuredContent"]
    content = response.get("content")
    if response.keys() <= _ENVELOPE and isinstance(content, list) and len(content) == 1:
        block = content[0]
        if isinstance(block, dict) and block.get("type") == "text" and "text" in block:
            return _unfolded(block["text"])
    return response


def _unfolded(value: Json) -> Json:
    """Return the JSON object or list that a text holds, else the value itself."""
    if isinstance(value, str) and value[:1] in ("{", "[") and len(value) <= MAX_TEXT:
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value
