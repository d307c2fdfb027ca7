"""The public state of an instance, as text: to see what a call changed, and to compare.

Only attributes without a leading underscore count, as in BFCL's own comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from bench2robust.core.canonical import canonical

__all__ = ["fingerprint", "records"]

_OPTIONS = orjson.OPT_NON_STR_KEYS
_DEEPEST = 60
"""Levels of directories that are looked into: a directory can be copied into itself."""


def fingerprint(instance: Any) -> bytes:
    """Return a text that changes whenever the public state, or the working directory, does."""
    public = dict(_public(instance))
    try:
        text = orjson.dumps(public, default=_plain, option=_OPTIONS)
    except TypeError:  # a huge number, a lone surrogate, or very deep nesting
        text = repr(public).encode("utf-8", "backslashreplace")
    return text + _place(instance)


def records(name: str, instance: Any) -> dict[str, str]:
    """Return the canonical JSON text of each public attribute, by ``class/attribute``.

    The working directory of a file system is added.

    Numbers that Python holds equal (1, 1.0) have one text, as BFCL compares with ``==``.
    """
    texts = {f"{name}/{key}": canonical(_same(value)) for key, value in _public(instance)}
    if hasattr(instance, "_current_dir"):
        texts[f"{name}/working directory"] = canonical(_place(instance).decode())
    return texts


def _public(instance: Any) -> Iterator[tuple[str, Any]]:
    for key, value in vars(instance).items():
        if not key.startswith("_"):
            yield key, _tree(value) if hasattr(value, "contents") else value


def _place(instance: Any) -> bytes:
    """Return the path of the working directory, where there is one."""
    directory, names = getattr(instance, "_current_dir", None), list[str]()
    while directory is not None and len(names) < _DEEPEST:
        names.append(directory.name)
        directory = directory.parent
    return "/".join(names).encode("utf-8", "backslashreplace")


def _tree(item: Any, depth: int = 0) -> Any:
    """Return a directory as nested dictionaries, a file as its text."""
    if not hasattr(item, "contents"):
        return item.content
    if depth > _DEEPEST:
        return {}
    return {name: _tree(inner, depth + 1) for name, inner in item.contents.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return repr(value)


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _same(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_same(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_same(item) for item in value), key=repr)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value if value is None or isinstance(value, (int, float, str)) else repr(value)
