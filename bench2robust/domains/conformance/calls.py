"""Clauses on bad calls: each comes back as a result, and none runs code of an agent's."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench2robust.core.canonical import MAX_TEXT, Json
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Sample, make, take

__all__ = ["errors", "hostile"]


def errors(sample: Sample, check: Check) -> None:
    """An unknown tool or a bad argument is an error result, and changes nothing."""
    for task in sample.tasks[:3]:
        session = sample.domain.session(task, True)
        for call in _unrunnable(session.tools):
            step = take(session, call)
            check(
                step.result.is_error,
                f"{_shown(call)} gave {step.result.content[:80]!r}, not marked as an error",
            )
            check(step.deltas[0] == step.deltas[1], f"{_shown(call)} changed the state")


def _unrunnable(specs: Any) -> Iterator[ToolCall]:
    """Yield calls that cannot be meant: no such tool, no object, what is required left out."""
    strange: tuple[Any, ...] = ("", "no_such_tool", "x" * 100_000, "\ud800", None, 7)
    no_objects: tuple[Any, ...] = ([], None, "{}", 7)
    for name in strange:
        yield ToolCall(name, {})
    for spec in specs:
        for arguments in no_objects:
            yield ToolCall(spec.name, arguments)
        if spec.parameters.get("required"):
            yield ToolCall(spec.name, {})


def hostile(sample: Sample, check: Check) -> None:
    """Text of an agent is never run as code, and no argument makes a call raise."""
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder) / "code-was-run"
        texts = _texts(str(mark))
        for task in sample.tasks[:2]:
            for spec in sample.domain.session(task, True).tools:
                # A session of its own: what a hostile call changed must not shield the next tool.
                session = sample.domain.session(task, True)
                for call in (*_as_names(spec, texts), *_as_arguments(spec, texts)):
                    _look(make(session, call), call, check)
                check(not mark.exists(), f"{spec.name} ran a text of the agent as code")
                mark.unlink(missing_ok=True)


def _look(result: ToolResult, call: ToolCall, check: Check) -> None:
    check(len(result.content) <= MAX_TEXT,
          lambda: f"{_shown(call)} gave {len(result.content)} characters")  # fmt: skip
    check(_encodable(result.content), lambda: f"{_shown(call)} gave a text that is no UTF-8")


def _texts(mark: str) -> tuple[str, ...]:
    """Return texts that leave a file behind when they are run as Python or by a shell."""
    python = f"open({mark!r}, 'w').close()"
    return (
        python,
        f"(lambda: {python})()",
        f"__import__('os').system('touch {mark}')",
        f"'{{}}'.format({python})",
        f"'; {python}; '",
        f"'); {python} #",
        f'"); {python} #',
        f"$(touch {mark})",
        f"`touch {mark}`",
        f"!!python/object/apply:os.system ['touch {mark}']",
        "{0.__class__.__init__.__globals__}",
        "%s%s%s%n",
        "../../../../etc/passwd",
        "'; DROP TABLE users; --",
        "\x00",
        "",
    )


def _as_names(spec: ToolSpec, texts: tuple[str, ...]) -> Iterator[ToolCall]:
    for text in texts:
        yield ToolCall(text, {})
        yield ToolCall(f"{spec.name}({text})", {})
        yield ToolCall(f"{spec.name}(x={text!r})", {})
        yield ToolCall(spec.name, {text: text})
    for name in ("__class__", "__init__", "_load_scenario", "tools", "delta", "call", "run"):
        yield ToolCall(name, {})


def _as_arguments(spec: ToolSpec, texts: tuple[str, ...]) -> Iterator[ToolCall]:
    names = list(spec.parameters.get("properties", {})) or ["value"]
    for value in (*texts, *_values()):
        yield ToolCall(spec.name, dict.fromkeys(names, value))
    for name in names:  # the others are as the schema wants them, so that this one is reached
        for text in texts[:3]:
            yield ToolCall(spec.name, {**_plain(spec), name: text})


def _plain(spec: ToolSpec) -> dict[str, Json]:
    samples: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "array": [],
                                "object": {}}  # fmt: skip
    properties = spec.parameters.get("properties", {})
    return {name: samples.get(_type(schema), "x") for name, schema in properties.items()}


def _type(schema: Any) -> str:
    found = schema.get("type") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else ""


def _values() -> tuple[Any, ...]:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    return (
        None, True, -1, 0, 2**70, 10**400, math.nan, math.inf, -0.0, 1e308, [], {}, [None], [[]],
        {"": None}, {"a": {"b": []}}, deep, "\ud800", "x" * 100_000, "9" * 5000, "(" * 5000,
    )  # fmt: skip


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(call: ToolCall) -> str:
    return f"{str(call.name)[:40]!r} with {call.arguments!a:.60}"
