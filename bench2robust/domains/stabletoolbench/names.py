"""How StableToolBench writes names: of categories, tools, APIs and functions."""

from __future__ import annotations

import re

__all__ = ["category_folder", "function_name", "plain"]

_OTHER = re.compile(r"[^\u4e00-\u9fa5^a-zA-Z0-9_]")
_RESERVED = frozenset(("from", "class", "return", "false", "true", "id", "and"))
_LONGEST = 64


def plain(name: str) -> str:
    """Return a tool's, an API's or a parameter's name as files and functions have it."""
    text = re.sub(r"_+", "_", _OTHER.sub("_", name)).lower().strip("_")
    if text[:1].isdigit():
        text = f"get_{text}"
    return f"is_{text}" if text in _RESERVED else text


def category_folder(name: str) -> str:
    """Return the folder of a category."""
    return re.sub(r"[ ,/]", "_", name).replace("__", "_")


def function_name(api: str, tool: str) -> str:
    """Return the name of a function, of at most 64 characters, its end kept."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{plain(api)}_for_{plain(tool)}")[-_LONGEST:]
