"""Calls written as Python text, as in BFCL's gold answers: parsed, never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from bench2robust.core.canonical import Json, is_deep
from bench2robust.core.errors import shown
from bench2robust.core.types import ToolCall

__all__ = ["read_call", "write_call"]

_LONGEST = 20_000
"""Characters of a call's text; Python's parser can exhaust the memory on very long ones."""


def read_call(text: str, parameters: Mapping[str, Sequence[str]]) -> ToolCall:
    """Read a call such as ``sort('report.txt')``.

    Args:
        parameters: by tool, the names of its parameters in order, for positional arguments.

    Raises:
        ValueError: the text is no single call of a known tool with literal arguments.
    """
    node = _parsed(text)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{shown(text)} is no call of a function by its name")
    name = node.func.id
    if name not in parameters:
        raise ValueError(f"{shown(name)} is no function of the task's classes")
    names = parameters[name]
    if len(node.args) > len(names):
        raise ValueError(f"{name} takes {len(names)} arguments, not {len(node.args)}")
    pairs = [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
    arguments = {key: _literal(value, name) for key, value in pairs if key is not None}
    if len(arguments) < len(pairs):
        raise ValueError(f"{name} is given an argument twice, or by '**'")
    return ToolCall(name, arguments)


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"a call of {len(text)} characters is longer than {_LONGEST}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{shown(text)} is no Python expression: {error}") from None


def _literal(node: ast.expr, name: str) -> Json:
    try:
        value = _plain(ast.literal_eval(node))
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise ValueError(f"an argument of {name} is no literal value") from None
    if is_deep(value):
        raise ValueError(f"an argument of {name} is nested too deeply")
    return value


def _plain(value: object) -> Json:
    """Return a literal as JSON would hold it. Raises ``ValueError`` for bytes and the like."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise ValueError(value)


def write_call(call: ToolCall) -> str:
    """Return a call as Python text; :func:`read_call` is the inverse."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.name}({arguments})"
