"""Memories as JSON files, and those that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.keyed import digest
from bench2robust.memory.posterior import Cells, Counts, Memory

__all__ = ["dump", "load", "memory_digest", "memory_names"]

FORMAT = "bench2robust-memory-1"
_SHIPPED = files("bench2robust.memory") / "posteriors"
_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def memory_names() -> list[str]:
    """Return the names of the memories that come with the package, one per domain."""
    names = (p.name for p in _SHIPPED.iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def dump(memory: Memory) -> bytes:
    """Return a memory as the bytes of its file; equal memories give equal bytes."""
    content = {
        "format": FORMAT,
        "domain": memory.domain,
        "suite": memory.suite,
        "episodes": memory.episodes,
        "recovery": _nested(memory.recovery),
        "switch": _nested(memory.switch),
    }
    return orjson.dumps(content, option=_PRETTY)


def memory_digest(memory: Memory) -> str:
    """Return 16 hexadecimal digits that identify a memory's content."""
    return digest(dump(memory).decode())


def load(source: str | Path) -> Memory:
    """Return the memory in a file, or the one that comes with the package under a name.

    Raises:
        UnknownNameError: there is no such name.
        DataError: the file cannot be read or does not hold a memory; the text says where.
    """
    name = str(source)
    if name in memory_names():
        return _parse((_SHIPPED / f"{name}.json").read_bytes(), name)
    path = Path(source)
    if path.suffix != ".json" and len(path.parts) < 2:
        raise UnknownNameError("memory (or path of a .json file)", name, memory_names())
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"The memory {name} cannot be read: {error}.") from None
    return _parse(data, name)


def _nested(cells: Cells) -> dict[str, dict[str, list[int]]]:
    tree: dict[str, dict[str, list[int]]] = {}
    for (first, second), counts in cells.items():
        tree.setdefault(first, {})[second] = list(counts)
    return tree


def _parse(data: bytes, name: str) -> Memory:
    try:
        content = orjson.loads(data)
    except ValueError as error:
        raise DataError(f"The memory {name} is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(
            f"{name} does not hold a memory of the format {FORMAT!r}: make one with "
            "bench2robust memory build."
        )
    return Memory(
        _field(content, "domain", name, _is_text),
        _field(content, "suite", name, _is_text),
        _field(content, "episodes", name, _is_count),
        _cells(content, "recovery", name),
        _cells(content, "switch", name),
    )


def _field(content: dict[str, Any], key: str, name: str, right: Callable[[Any], bool]) -> Any:
    value = content.get(key)
    if not right(value):
        raise DataError(f"The memory {name} has a wrong {key!r}: {value!r:.100}.")
    return value


def _cells(content: dict[str, Any], key: str, name: str) -> Cells:
    tree = _field(content, key, name, lambda value: isinstance(value, dict))
    cells = {}
    for first, row in tree.items():
        for second, counts in _field(tree, first, name, lambda v: isinstance(v, dict)).items():
            _field(row, second, name, _are_counts)
            cells[first, second] = Counts(*counts)
    return cells


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_counts(value: Any) -> bool:
    whole = isinstance(value, list) and len(value) == 2 and all(map(_is_count, value))
    return whole and value[0] <= value[1]
